import { useRef, useState } from "react";
import type { ChatMessage, MessageState } from "../api.ts";
import { IconButton } from "../controls/IconButton.tsx";
import { BranchIcon, EditIcon, RetryIcon } from "../controls/icons.tsx";
import { CopyButton } from "./CopyButton.tsx";
import { EditForm } from "./EditForm.tsx";
import { type MessageActions, MessagePart } from "./MessagePart.tsx";
import { Outcome } from "./Outcome.tsx";
import { Siblings } from "./Siblings.tsx";
import { textOf } from "./text-of.ts";

interface Props {
  readonly message: ChatMessage;
  readonly state: MessageState | undefined;
  /** The ids of its versions, oldest first; empty if there is one. */
  readonly siblings: readonly string[];
  readonly isAnswering: boolean;
  readonly isLost: boolean;
  /** Whether the server rejected the message. */
  readonly isUnsent: boolean;
  /** Whether messages can be edited and answers regenerated now. */
  readonly canChange: boolean;
  readonly actions: MessageActions;
}

export function Message({
  message,
  state,
  siblings,
  isAnswering,
  isLost,
  isUnsent,
  canChange,
  actions,
}: Props) {
  const [isEditing, setIsEditing] = useState(false);
  const commands = useRef<HTMLDivElement>(null);
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
            requestAnimationFrame(() => commands.current?.querySelector<HTMLElement>("[data-edit]")?.focus());
          }}
          onSave={(next) => {
            setIsEditing(false);
            actions.edit(message.id, next);
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
              actions={actions}
            />
          ))}
          {isAnswering && <span className="caret" aria-hidden="true" />}
        </div>
      )}
      {isUnsent && <p className="unsent-note">Not sent</p>}
      {!isMine && !isAnswering && (
        <Outcome
          status={isLost ? "lost" : (state?.status ?? "complete")}
          onRetry={canChange ? () => actions.regenerate(message.id) : undefined}
        />
      )}
      {!isEditing && !isAnswering && (
        <div ref={commands} className="actions">
          {siblings.length > 1 && (
            <Siblings ids={siblings} shown={message.id} isDisabled={!canChange} onSwitch={actions.switchTo} />
          )}
          {text !== "" && <CopyButton text={() => text} label="Copy" />}
          {canChange && isMine && (
            <IconButton label="Edit" data-edit="" onClick={() => setIsEditing(true)}>
              <EditIcon />
            </IconButton>
          )}
          {canChange && !isMine && (
            <IconButton label="Regenerate" onClick={() => actions.regenerate(message.id)}>
              <RetryIcon />
            </IconButton>
          )}
          {canChange && (
            <IconButton label="Branch from here" onClick={() => actions.branch(message.id)}>
              <BranchIcon />
            </IconButton>
          )}
        </div>
      )}
    </article>
  );
}
