import { messagesFrom } from "../messages.ts";
import type { ChatText, StoredTurn } from "./contestant.ts";

/** The parts of the answer that exist at each save. */
const DRAFTS = [1 / 3, 2 / 3];
const texts = messagesFrom(0, 400).flatMap(({ content }) => (typeof content === "string" ? content : []));

/** A question and its answer of 100 words on average, the same in every run. */
export function turnOf(number: number): StoredTurn {
  const [question, whole] = [textOf(2 * number), textOf(2 * number + 1)];
  const answer = (content: string): ChatText => ({ id: `a${number}`, role: "assistant", content });
  return {
    question: { id: `q${number}`, role: "user", content: question },
    drafts: DRAFTS.map((share) => answer(whole.slice(0, whole.length * share))),
    answer: answer(whole),
  };
}

function textOf(position: number): string {
  return texts[position % texts.length] ?? "";
}
