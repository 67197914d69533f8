import { memo } from "react";
import type { ChatMessage } from "../api.ts";
import { DeleteFile } from "./DeleteFile.tsx";
import { Markdown } from "./Markdown.tsx";
import { Question } from "./Question.tsx";

interface Props {
  readonly part: ChatMessage["parts"][number];
  readonly isMine: boolean;
  /** Whether the user can decide now. */
  readonly isWaiting: boolean;
  readonly onApprove: (approvalId: string, isApproved: boolean) => void;
  readonly onAnswer: (toolCallId: string, answer: string) => void;
}

export const MessagePart = memo(function MessagePart({
  part,
  isMine,
  isWaiting,
  onApprove,
  onAnswer,
}: Props) {
  switch (part.type) {
    case "text":
      return isMine ? <p className="plain">{part.text}</p> : <Markdown text={part.text} />;
    case "reasoning":
      return (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={part.text} />
        </details>
      );
    case "tool-deleteFile":
      return <DeleteFile part={part} isWaiting={isWaiting} onApprove={onApprove} />;
    case "tool-askUser":
      return <Question part={part} isWaiting={isWaiting} onAnswer={onAnswer} />;
    default:
      return undefined;
  }
});
