import { useEffect } from "react";
import { IconButton } from "./IconButton.tsx";
import { CloseIcon } from "./icons.tsx";

export interface ToastMessage {
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const SHOWN_MS = 8_000;

/** Shows a result or a failure for a short time. The region always exists, so that screen readers watch it. */
export function Toast({
  message,
  onClose,
}: {
  readonly message: ToastMessage | undefined;
  readonly onClose: () => void;
}) {
  useEffect(() => {
    if (message === undefined) return;
    const timer = setTimeout(onClose, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [message, onClose]);
  return (
    <div className="toast-region" role="status">
      {message && (
        <div className="toast">
          <span>{message.text}</span>
          {message.action && (
            <button
              type="button"
              className="link-button"
              onClick={() => {
                message.action?.run();
                onClose();
              }}
            >
              {message.action.label}
            </button>
          )}
          <IconButton label="Dismiss" onClick={onClose}>
            <CloseIcon />
          </IconButton>
        </div>
      )}
    </div>
  );
}
