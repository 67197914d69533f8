import { isDeepStrictEqual } from "node:util";
import { type ChatMessage, chatMessageTraits, type Part, StoreError } from "@scrollback/store-core";
import { splitOpenExchange } from "./exchange.ts";

/** A history and a new input, arranged for the model. */
export interface ArrangedInput {
  /** The conversation so far; a reducer may shorten it. */
  readonly earlier: readonly ChatMessage[];
  /**
   * The messages that must reach the model unchanged, after the messages of context providers. Ends with the input, or with the
   * steps that follow it.
   */
  readonly open: readonly ChatMessage[];
  /** Whether the history already holds the input, because an earlier run stored it and did not finish. */
  readonly isStored: boolean;
  /** The answer to the input in the history: an earlier run finished, but its caller did not learn of it. */
  readonly answer?: readonly ChatMessage[];
}

/** @param isStorable whether the input is stored at all, so that the history may hold it. */
export function turnOf(
  history: readonly ChatMessage[],
  input: readonly ChatMessage[],
  isStorable: boolean,
): ArrangedInput {
  const shown = history.filter((message, index) => {
    const next = history[index + 1];
    return !isPartial(message) || next === undefined || next.role === "user";
  });
  const last = shown.at(-1);
  const unanswered = last && isPartial(last) ? shown.slice(0, -1) : shown;
  const start = isStorable ? startOf(input, unanswered) : undefined;
  const earlierTurn = isStorable && start === undefined ? findById(input, unanswered) : undefined;
  if (earlierTurn) return earlierTurn;
  const isStored = start !== undefined;
  const before = isStored ? unanswered.slice(0, start) : input.length === 0 ? unanswered : shown;
  const { earlier, open } = splitOpenExchange(before, input);
  return { earlier, open: [...open, ...(isStored ? unanswered.slice(start) : input)], isStored };
}

/** The index of the input at the end of a history, if only steps follow it that the model can continue from. */
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

/**
 * The turn of an input whose messages are in the history by their ids, and followed by messages. If its steps have no answer, the
 * model gets it after the other messages.
 */
function findById(input: readonly ChatMessage[], history: readonly ChatMessage[]): ArrangedInput | undefined {
  if (input.length === 0 || input.some(({ id }) => id === undefined)) return undefined;
  const start = history.findIndex((_, from) =>
    input.every(({ id }, index) => id === history[from + index]?.id),
  );
  if (start === -1) return undefined;
  const after = start + input.length;
  const next = history.findIndex(
    ({ role }, index) => index >= after && role !== "assistant" && role !== "tool",
  );
  const end = next === -1 ? history.length : next;
  const steps = history.slice(after, end).filter((message) => !isPartial(message));
  const [earlier, open] = [history.toSpliced(start, end - start), [...input, ...steps]];
  const isAnswered = steps.at(-1)?.role === "assistant";
  return { earlier, open, isStored: true, ...(isAnswered && { answer: steps }) };
}

/** Compares ids if both messages have one, so that the same text can occur twice. */
function isSame(message: ChatMessage, stored: ChatMessage | undefined): boolean {
  if (message.id !== undefined && stored?.id !== undefined) return message.id === stored.id;
  return isDeepStrictEqual(message, stored);
}

/** The streamed text of an answer that was cancelled or failed. */
export function partialAnswer(text: string): ChatMessage {
  return { role: "assistant", content: [{ type: "text", text }], metadata: { partial: true } };
}

function isPartial({ role, metadata }: ChatMessage): boolean {
  return role === "assistant" && (Object(metadata) as { partial?: unknown }).partial === true;
}

/**
 * @throws StoreError `CONFLICT` for an input with an approval, or a result, of a call that has its result in the history: its tool would
 *   run again.
 */
export function assertUndecided(history: readonly ChatMessage[], input: readonly ChatMessage[]): void {
  const { toolResults } = chatMessageTraits;
  const ended = new Set(history.flatMap(toolResults));
  const callOf = new Map(
    partsOf(history).flatMap((part) =>
      part.type === "tool-approval-request" ? [[part.approvalId, part.toolCallId] as const] : [],
    ),
  );
  const approved = partsOf(input).flatMap((part) =>
    part.type === "tool-approval-response" ? (callOf.get(part.approvalId) ?? []) : [],
  );
  const again = [...approved, ...input.flatMap(toolResults)].find((call) => ended.has(call));
  if (again !== undefined)
    throw new StoreError(
      "CONFLICT",
      `input: the tool call ${again} has its result already; read the thread again`,
    );
}

function partsOf(messages: readonly ChatMessage[]): readonly Part[] {
  return messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
}
