import type { MessageState } from "../api.ts";

/** Shows how an unsuccessful answer ended. */
export function Outcome({
  status,
  onRetry,
}: {
  readonly status: MessageState["status"] | "lost";
  readonly onRetry: (() => void) | undefined;
}) {
  const [text, action] =
    {
      stopped: ["You stopped this answer.", "Answer again"],
      failed: ["This answer failed.", "Try again"],
      lost: ["This answer was interrupted: the server that made it is gone.", "Try again"],
      partial: undefined,
      complete: undefined,
    }[status] ?? [];
  if (text === undefined) return undefined;
  return (
    <p className={`outcome ${status}`}>
      {text}
      {onRetry && (
        <button type="button" className="link-button" onClick={onRetry}>
          {action}
        </button>
      )}
    </p>
  );
}
