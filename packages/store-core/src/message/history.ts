import { emitWarning } from "#runtime";
import { reporter } from "../callbacks.ts";
import { StoreError } from "../errors.ts";
import { RecentMap } from "../recent-map.ts";
import { chatMessageTraits } from "./chat-message-traits.ts";
import type { ChatMessage, MessageTraits, Part } from "./message.ts";

/** A tool call without its result, or a result without its call. */
export interface UnpairedTool {
  readonly kind: "call" | "result";
  readonly toolCallId: string;
}

/** What {@link pairedHistory} needs to know of a message, in addition to its role, calls and results. */
export interface HistoryTraits<M> extends Pick<MessageTraits<M>, "role" | "toolCalls" | "toolResults"> {
  /** Returns a message without some of its calls and results; undefined if nothing else is in it. */
  without(message: M, calls: ReadonlySet<string>, results: ReadonlySet<string>): M | undefined;
  /** Whether a message contains only reasoning. Reasoning belongs to the message after it. */
  isReasoning(message: M): boolean;
  /** Whether a call has one result, before the next message of a user. Default: results may be late, and several. */
  readonly hasResultAtOnce?: boolean;
}

/** The calls of one id in one message that wait for results. */
interface OpenCalls {
  /** Of their message. */
  readonly index: number;
  /** How many calls have the id: some models give it to several. */
  readonly count: number;
  /** Whether a user's message follows. */
  isOver: boolean;
  /** The indexes of the messages with results so far. */
  readonly results: number[];
}

/** A history for a model, and what was left out of it. */
export interface PairedHistory<M> {
  readonly messages: M[];
  readonly unpaired: readonly UnpairedTool[];
}

/**
 * Leaves out of a history the tool calls and results that providers refuse: a result without a call of its id before it, and a call
 * without a result that a user's message follows; of `hasResultAtOnce`, also a late or second result. Reasoning that belongs to such a call goes too. Calls that are still open at the
 * end are kept, because their results may follow. The kept messages are the same objects, unless a part of them is left out.
 *
 * @param traits default: those of chat messages.
 */
export function pairedHistory(messages: readonly ChatMessage[]): PairedHistory<ChatMessage>;
export function pairedHistory<M>(messages: readonly M[], traits: HistoryTraits<M>): PairedHistory<M>;
export function pairedHistory<M>(
  messages: readonly M[],
  traits = chatHistoryTraits as unknown as HistoryTraits<M>,
): PairedHistory<M> {
  const unpaired: UnpairedTool[] = [];
  const dropped = messages.map(() => ({ calls: new Set<string>(), results: new Set<string>() }));
  const known = new Set<string>();
  /** The calls without a result so far. */
  const open = new Map<string, OpenCalls>();
  const dropCall = (toolCallId: string, { index, results }: OpenCalls) => {
    dropped[index]?.calls.add(toolCallId);
    for (const at of results) dropped[at]?.results.add(toolCallId);
    unpaired.push({ kind: "call", toolCallId });
  };
  /** Whether a result has its call before it. */
  const takesResult = (id: string, index: number): boolean => {
    const calls = open.get(id);
    if (!calls) return known.has(id) && !traits.hasResultAtOnce;
    if (calls.isOver && traits.hasResultAtOnce) return false;
    calls.results.push(index);
    if (calls.results.length >= calls.count) open.delete(id);
    return true;
  };
  for (const [index, message] of messages.entries()) {
    const results = traits.toolResults(message);
    if (traits.role(message) === "user" && results.length === 0)
      for (const call of open.values()) call.isOver = true;
    for (const id of traits.toolCalls(message)) {
      const earlier = open.get(id);
      if (earlier && earlier.index !== index) dropCall(id, earlier);
      known.add(id);
      const count = earlier?.index === index ? earlier.count + 1 : 1;
      open.set(id, { index, count, isOver: false, results: [] });
    }
    for (const id of results) {
      if (takesResult(id, index)) continue;
      dropped[index]?.results.add(id);
      unpaired.push({ kind: "result", toolCallId: id });
    }
  }
  for (const [id, call] of open) if (call.isOver) dropCall(id, call);
  if (unpaired.length === 0) return { messages: [...messages], unpaired };
  const kept = messages.map((message, index) => {
    const { calls, results } = dropped[index] ?? { calls: new Set(), results: new Set() };
    return calls.size + results.size === 0 ? message : traits.without(message, calls, results);
  });
  const isKept = keepsReasoning(messages, (message, index) => {
    if (traits.role(message) !== "assistant") return "end";
    if (traits.isReasoning(message)) return "reasoning";
    return kept[index] === undefined ? "dropped" : "content";
  });
  return {
    messages: kept.filter((message, index): message is M => message !== undefined && isKept[index] === true),
    unpaired,
  };
}

/** The place of an item in a list with reasoning. */
export type ReasoningPlace = "reasoning" | "dropped" | "content" | "end" | "other";

/**
 * Finds, for each item of a list, whether it may stay after some items were dropped: reasoning may not, if the item that it belongs
 * to was dropped, and the next item is not content. `end` ends a step: reasoning right before it may not stay either.
 */
export function keepsReasoning<T>(
  items: readonly T[],
  placeOf: (item: T, index: number) => ReasoningPlace,
): boolean[] {
  const keeps = items.map(() => true);
  let waiting: number[] = [];
  let isCut = false;
  const release = (isKept: boolean) => {
    if (!isKept) for (const index of waiting) keeps[index] = false;
    waiting = [];
    isCut = false;
  };
  for (const [index, item] of items.entries()) {
    const place = placeOf(item, index);
    if (place === "other") continue;
    if (place === "reasoning") {
      if (isCut) release(false);
      waiting.push(index);
    } else if (place === "dropped") {
      keeps[index] = false;
      isCut = waiting.length > 0;
    } else release(place === "content");
  }
  release(!isCut);
  return keeps;
}

/** For histories of `ChatMessage`s, and so for the AI SDK's `ModelMessage`s. */
export const chatHistoryTraits: HistoryTraits<ChatMessage> = Object.freeze({
  hasResultAtOnce: true,
  role: chatMessageTraits.role,
  toolCalls: chatMessageTraits.toolCalls,
  toolResults: chatMessageTraits.toolResults,
  without(message: ChatMessage, calls: ReadonlySet<string>, results: ReadonlySet<string>) {
    if (typeof message.content === "string") return undefined;
    const approvals = new Set(
      message.content.flatMap((part) =>
        part.type === "tool-approval-request" && calls.has(part.toolCallId) ? part.approvalId : [],
      ),
    );
    const isDropped = (part: Part) => {
      if (part.type === "tool-call" || part.type === "tool-approval-request")
        return calls.has(part.toolCallId);
      if (part.type === "tool-approval-response") return approvals.has(part.approvalId);
      return part.type === "tool-result" && results.has(part.toolCallId);
    };
    const keeps = keepsReasoning(message.content, (part) => {
      if (isDropped(part)) return "dropped";
      return isReasoningPart(part) ? "reasoning" : "content";
    });
    const content = message.content.filter((_, index) => keeps[index]);
    return content.some((part) => !isReasoningPart(part)) ? { ...message, content } : undefined;
  },
  isReasoning: (message: ChatMessage) => chatMessageTraits.isReasoning?.(message) ?? false,
});

function isReasoningPart({ type }: Part): boolean {
  return type === "reasoning" || type === "reasoning-file";
}

/** What {@link reportOnce} reports to. */
export interface ReportTarget {
  /** The object that remembers what was reported, such as a store factory. */
  readonly scope: object;
  /** Empty for a history without a thread. */
  readonly threadId: string;
  /** Default: a warning of the process. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/** The number of reports that are remembered, of each scope. */
const REMEMBERED_REPORTS = 1_000;
const reported = new WeakMap<object, RecentMap<true>>();

/** Reports an error once for a thread and a subject. */
export function reportOnce(
  { scope, threadId, onError }: ReportTarget,
  subject: string,
  error: () => StoreError,
): void {
  const reports = reported.get(scope) ?? new RecentMap<true>(REMEMBERED_REPORTS);
  reported.set(scope, reports);
  const key = JSON.stringify([threadId, subject]);
  if (reports.get(key)) return;
  reports.set(key, true);
  if (onError) reporter(onError)(error());
  else emitWarning(error().message);
}

/** Reports once a thread what {@link pairedHistory} left out: a StoreError `INVALID_STATE`. */
export function reportUnpaired(target: ReportTarget, unpaired: readonly UnpairedTool[]): void {
  if (unpaired.length === 0) return;
  reportOnce(target, "unpaired", () => {
    const list = unpaired.map(({ kind, toolCallId }) => `the ${kind} ${toolCallId}`).join(", ");
    const place = target.threadId === "" ? "" : ` (thread ${target.threadId})`;
    const problem =
      "a tool call without its result, or a result without its call, was left out for the model";
    return new StoreError("INVALID_STATE", `history: ${problem}: ${list}${place}`);
  });
}
