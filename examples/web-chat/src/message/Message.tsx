import { memo, useRef, useState } from "react";
import type { ChatMessage, MessageState } from "../api.ts";
import { IconButton } from "../controls/IconButton.tsx";
import { BranchIcon, EditIcon, RetryIcon } from "../controls/icons.tsx";
import { CopyButton } from "./CopyButton.tsx";
import { EditForm } from "./EditForm.tsx";
import { MessagePart } from "./MessagePart.tsx";
import { Outcome } from "./Outcome.tsx";
import { textOf } from "./text-of.ts";

interface Props {
  readonly message: ChatMessage;
  readonly state: MessageState | undefined;
  readonly isAnswering: boolean;
  readonly isLost: boolean;
  /** Whether the server rejected the message. */
  readonly isUnsent: boolean;
  /** Whether messages can be edited and answers regenerated now. */
  readonly canChange: boolean;
  readonly onEdit: (text: string) => void;
  readonly onRegenerate: () => void;
  readonly onBranch: () => void;
  readonly onApprove: (approvalId: string, isApproved: boolean) => void;
  readonly onAnswer: (toolCallId: string, answer: string) => void;
}

export const Message = memo(MessageView, isSame);

/** The functions are new at each rendering, but their effect depends only on the message. */
function isSame(before: Props, after: Props): boolean {
  return (
    before.message === after.message &&
    before.state?.status === after.state?.status &&
    before.isAnswering === after.isAnswering &&
    before.isLost === after.isLost &&
    before.isUnsent === after.isUnsent &&
    before.canChange === after.canChange
  );
}

function MessageView(props: Props) {
  const { message, state, isAnswering, isLost, isUnsent, canChange } = props;
  const [isEditing, setIsEditing] = useState(false);
  const actions = useRef<HTMLDivElement>(null);
  const isMine = message.role === "user";
  const text = textOf(message);
  return (
    <article className={isMine ? "message mine" : "message"} data-message-id={message.id}>
      <h2 className="visually-hidden">{isMine ? "You" : "Assistant"}</h2>
      {isEditing ? (
        <EditForm
          text={text}
          onCancel={() => {
            setIsEditing(false);
            requestAnimationFrame(() => actions.current?.querySelector<HTMLElement>("[data-edit]")?.focus());
          }}
          onSave={(next) => {
            setIsEditing(false);
            props.onEdit(next);
          }}
        />
      ) : (
        <div className={isMine ? `bubble ${isUnsent ? "unsent" : ""}` : "answer"}>
          {message.parts.map((part, index) => (
            <MessagePart
              // Parts are only added at the end.
              // biome-ignore lint/suspicious/noArrayIndexKey: parts have no ids
              key={index}
              part={part}
              isMine={isMine}
              isWaiting={canChange}
              onApprove={props.onApprove}
              onAnswer={props.onAnswer}
            />
          ))}
          {isAnswering && <span className="caret" aria-hidden="true" />}
        </div>
      )}
      {isUnsent && <p className="unsent-note">Not sent</p>}
      {!isMine && !isAnswering && (
        <Outcome
          status={isLost ? "lost" : (state?.status ?? "complete")}
          onRetry={canChange ? props.onRegenerate : undefined}
        />
      )}
      {!isEditing && !isAnswering && (
        <div ref={actions} className="actions">
          {text !== "" && <CopyButton text={() => text} label="Copy" />}
          {canChange && isMine && (
            <IconButton label="Edit" data-edit="" onClick={() => setIsEditing(true)}>
              <EditIcon />
            </IconButton>
          )}
          {canChange && !isMine && (
            <IconButton label="Regenerate" onClick={props.onRegenerate}>
              <RetryIcon />
            </IconButton>
          )}
          {canChange && (
            <IconButton label="Branch from here" onClick={props.onBranch}>
              <BranchIcon />
            </IconButton>
          )}
        </div>
      )}
    </article>
  );
}
