import { isDeepStrictEqual } from "node:util";
import type { ChatMessage } from "@scrollback/store-core";
import { splitOpenExchange } from "./exchange.ts";

/** A history and a new input as the model is to have them. */
export interface Turn {
  /** What was said before; a reducer may shorten it. */
  readonly settled: readonly ChatMessage[];
  /** What must reach the model whole, behind what context providers add. Ends with the input, or what was said after it. */
  readonly open: readonly ChatMessage[];
  /** Whether the input is in the history already: an earlier run has stored it and did not come to its end. */
  readonly isStored: boolean;
}

/** @param isStorable whether the input is stored at all, so that it may be there. */
export function turnOf(
  history: readonly ChatMessage[],
  input: readonly ChatMessage[],
  isStorable: boolean,
): Turn {
  const shown = history.filter((message, index) => {
    const next = history[index + 1];
    return !isPartial(message) || next === undefined || next.role === "user";
  });
  const last = shown.at(-1);
  const unanswered = last && isPartial(last) ? shown.slice(0, -1) : shown;
  const start = isStorable ? startOf(input, unanswered) : undefined;
  const isStored = start !== undefined;
  const before = isStored ? unanswered.slice(0, start) : input.length === 0 ? unanswered : shown;
  const { settled, open } = splitOpenExchange(before, input);
  return { settled, open: [...open, ...(isStored ? unanswered.slice(start) : input)], isStored };
}

/** Where the input stands at the end of a history, with nothing behind it but steps that the model is to go on from. */
function startOf(input: readonly ChatMessage[], history: readonly ChatMessage[]): number | undefined {
  if (input.length === 0) return undefined;
  const isUnfinished = history.at(-1)?.role === "tool";
  for (let start = history.length - input.length; start >= 0; start--) {
    const next = history[start + input.length];
    if (next && !(isUnfinished && (next.role === "assistant" || next.role === "tool"))) return undefined;
    if (input.every((message, index) => isSame(message, history[start + index]))) return start;
  }
  return undefined;
}

/** By their ids where both have one, so that the same words can be said twice. */
function isSame(message: ChatMessage, stored: ChatMessage | undefined): boolean {
  if (message.id !== undefined && stored?.id !== undefined) return message.id === stored.id;
  return isDeepStrictEqual(message, stored);
}

/** What was said of an answer that was stopped or has failed. */
export function partialAnswer(text: string): ChatMessage {
  return { role: "assistant", content: [{ type: "text", text }], metadata: { partial: true } };
}

function isPartial({ role, metadata }: ChatMessage): boolean {
  return role === "assistant" && (Object(metadata) as { partial?: unknown }).partial === true;
}
