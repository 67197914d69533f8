import { useEffect, useRef, useState } from "react";
import type { MessageState } from "../api.ts";

/** Tells screen readers when an answer begins, and reads the complete answer, instead of each word as it arrives. */
export function Announcer({
  isAnswering,
  answer,
  status,
}: {
  readonly isAnswering: boolean;
  readonly answer: string;
  readonly status: MessageState["status"] | undefined;
}) {
  const [text, setText] = useState("");
  const wasAnswering = useRef(false);
  useEffect(() => {
    if (isAnswering && !wasAnswering.current) setText("The assistant is answering.");
    if (!isAnswering && wasAnswering.current) setText(`The assistant answered: ${answer}`);
    wasAnswering.current = isAnswering;
  }, [isAnswering, answer]);
  const ending = { stopped: "The answer was stopped.", failed: "The answer failed." };
  return (
    <div className="visually-hidden" aria-live="polite">
      <p>{text}</p>
      {!isAnswering && (status === "stopped" || status === "failed") && <p>{ending[status]}</p>}
    </div>
  );
}
