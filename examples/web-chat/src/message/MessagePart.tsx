import type { ChatMessage } from "../api.ts";
import { DeleteFile } from "./DeleteFile.tsx";
import { Markdown } from "./Markdown.tsx";
import { Question } from "./Question.tsx";

/** What the user can do with a message. */
export interface MessageActions {
  edit(messageId: string, text: string): void;
  regenerate(messageId: string): void;
  branch(messageId: string): void;
  /** Shows another version of the message, and what followed it. */
  switchTo(messageId: string): void;
  approve(approvalId: string, isApproved: boolean): void;
  answer(toolCallId: string, answer: string): void;
}

interface Props {
  readonly part: ChatMessage["parts"][number];
  readonly isMine: boolean;
  /** Whether the user can decide now. */
  readonly isWaiting: boolean;
  readonly actions: MessageActions;
}

export function MessagePart({ part, isMine, isWaiting, actions }: Props) {
  switch (part.type) {
    case "text":
      return isMine ? <p className="plain">{part.text}</p> : <Markdown text={part.text} />;
    case "file":
      return part.mediaType.startsWith("image/") ? (
        <img className="picture" src={part.url} alt={part.filename ?? "A picture"} loading="lazy" />
      ) : (
        <a className="file" href={part.url} target="_blank" rel="noreferrer">
          {part.filename ?? "A file"}
        </a>
      );
    case "reasoning":
      return (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={part.text} />
        </details>
      );
    case "tool-deleteFile":
      return <DeleteFile part={part} isWaiting={isWaiting} onApprove={actions.approve} />;
    case "tool-askUser":
      return <Question part={part} isWaiting={isWaiting} onAnswer={actions.answer} />;
    default:
      return undefined;
  }
}
