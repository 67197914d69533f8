import { type FormEvent, useId, useState } from "react";
import type { ChatMessage } from "../api.ts";
import { QuestionIcon } from "../controls/icons.tsx";

type Part = Extract<ChatMessage["parts"][number], { type: "tool-askUser" }>;

/** A call of `askUser`: the user's answer is its output. */
export function Question({
  part,
  isWaiting,
  onAnswer,
}: {
  readonly part: Part;
  readonly isWaiting: boolean;
  readonly onAnswer: (toolCallId: string, answer: string) => void;
}) {
  const id = useId();
  const [own, setOwn] = useState("");
  const question = part.input?.question ?? "…";
  if (part.state === "output-available" || part.state === "output-error") {
    return (
      <p className="tool-line">
        <QuestionIcon />
        <span>
          {question}{" "}
          <strong>{part.state === "output-available" ? part.output.answer : part.errorText}</strong>
        </span>
      </p>
    );
  }
  const answer = (text: string) => onAnswer(part.toolCallId, text);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (own.trim() !== "") answer(own.trim());
  };
  return (
    <section className="tool-card asks" aria-labelledby={id}>
      <div className="tool-head">
        <QuestionIcon />
        <p className="tool-title" id={id}>
          {question}
        </p>
      </div>
      <div className="tool-actions">
        {part.input?.options?.map(
          (option) =>
            option !== undefined && (
              <button
                key={option}
                type="button"
                className="button"
                disabled={!isWaiting}
                onClick={() => answer(option)}
              >
                {option}
              </button>
            ),
        )}
      </div>
      <form className="own-answer" onSubmit={submit}>
        <input
          aria-label="Another answer"
          placeholder="Another answer"
          value={own}
          disabled={!isWaiting}
          onChange={(event) => setOwn(event.target.value)}
        />
        <button type="submit" className="button" disabled={!isWaiting || own.trim() === ""}>
          Answer
        </button>
      </form>
    </section>
  );
}
