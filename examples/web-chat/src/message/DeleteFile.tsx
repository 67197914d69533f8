import type { ChatMessage } from "../api.ts";
import { FileIcon } from "../controls/icons.tsx";

type Part = Extract<ChatMessage["parts"][number], { type: "tool-deleteFile" }>;

/** A call of `deleteFile`: asks for approval, then shows the outcome. */
export function DeleteFile({
  part,
  isWaiting,
  onApprove,
}: {
  readonly part: Part;
  readonly isWaiting: boolean;
  readonly onApprove: (approvalId: string, isApproved: boolean) => void;
}) {
  const name = part.input?.name ?? "a file";
  if (part.state === "approval-requested") {
    const { id } = part.approval;
    return (
      <section className="tool-card asks" aria-label="Approval needed">
        <div className="tool-head">
          <FileIcon />
          <div>
            <p className="tool-title">Delete {name}?</p>
            <p className="tool-note">The assistant wants to delete this file. It cannot be undone.</p>
          </div>
        </div>
        <div className="tool-actions">
          <button
            type="button"
            className="button primary"
            disabled={!isWaiting}
            onClick={() => onApprove(id, true)}
          >
            Approve
          </button>
          <button type="button" className="button" disabled={!isWaiting} onClick={() => onApprove(id, false)}>
            Deny
          </button>
        </div>
      </section>
    );
  }
  return (
    <p className="tool-line">
      <FileIcon />
      {outcomeOf(part, name)}
    </p>
  );
}

function outcomeOf(part: Part, name: string): string {
  switch (part.state) {
    case "output-available":
      return part.output.deleted ? `Deleted ${name}` : `${name} was not there`;
    case "output-error":
      return `Deleting ${name} did not finish: ${part.errorText}`;
    case "output-denied":
      return `You denied deleting ${name}`;
    case "approval-responded":
      return part.approval.approved ? `Deleting ${name}…` : `You denied deleting ${name}`;
    default:
      return `Wants to delete ${name}…`;
  }
}
