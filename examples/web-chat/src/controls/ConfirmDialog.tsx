import { useEffect, useId, useRef } from "react";

export interface Confirmation {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly confirm: () => void;
}

/** Asks for confirmation of an action that cannot be undone. Escape and Cancel only close the dialog. */
export function ConfirmDialog({
  confirmation,
  onClose,
}: {
  readonly confirmation: Confirmation;
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-text`}
      onClose={onClose}
    >
      <h2 id={`${id}-title`}>{confirmation.title}</h2>
      <p id={`${id}-text`}>{confirmation.text}</p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button
          type="button"
          className="button dangerous"
          onClick={() => {
            dialog.current?.close();
            confirmation.confirm();
          }}
        >
          {confirmation.action}
        </button>
      </div>
    </dialog>
  );
}
