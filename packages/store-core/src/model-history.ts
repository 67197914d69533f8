import { createHash } from "node:crypto";
import { withoutBlanks } from "./blank-messages.ts";
import { chatHistoryTraits, pairedHistory, type ReportTarget, reportUnpaired } from "./history.ts";
import type { ChatMessage, Part, ToolCallPart } from "./message.ts";
import { toolOutput } from "./tool-output.ts";
import { wellFormed } from "./well-formed.ts";

/** The letters and the length of ids and names that all providers accept. */
const ACCEPTED = /^[\w-]{1,64}$/;

/**
 * A history without what some provider refuses. Ids and names are changed only if a provider would refuse them; the stored messages
 * are not changed.
 *
 * - Calls without results, and results without calls, are left out by {@link pairedHistory}, and reported.
 * - An id of several calls is kept by the newest of them. An id or a name with other characters than letters, digits, `_` and `-`, or
 *   more than 64 of them, is replaced. The names of current tools are kept, and the ids of calls without results.
 * - The input of a call is an object, except that a call which succeeded may have another one, but not null.
 * - Lone surrogates become U+FFFD, because they have no UTF-8.
 * - Blank texts and messages are left out by {@link withoutBlanks}.
 *
 * @param target where calls and results that are left out are reported.
 * @param tools by the names of the current tools.
 */
export function modelHistory(
  messages: readonly ChatMessage[],
  target: ReportTarget,
  tools: Readonly<Record<string, unknown>> = {},
): ChatMessage[] {
  const paired = pairedHistory(messages, chatHistoryTraits);
  reportUnpaired(target, paired.unpaired);
  return withoutBlanks(withAcceptedCalls(paired.messages, tools).map(wellFormed));
}

/** A tool call in a history. */
interface Call {
  readonly part: ToolCallPart;
  /** How many calls before it have its id. */
  readonly ordinal: number;
  isNewest: boolean;
  isAnswered: boolean;
  hasFailed: boolean;
}

function withAcceptedCalls(
  messages: readonly ChatMessage[],
  tools: Readonly<Record<string, unknown>>,
): ChatMessage[] {
  const calls = callsOf(messages);
  const nameOf = (name: string) =>
    ACCEPTED.test(name) || Object.hasOwn(tools, name)
      ? name
      : name.replace(/[^\w-]/g, "_").slice(0, 64) || "_";
  const accepted = (part: Part, call: Call | undefined): Part => {
    if (!call) return part;
    const changed: Record<string, unknown> = { ...part, toolCallId: idOf(call) };
    if (part.type === "tool-call" || part.type === "tool-result") changed.toolName = nameOf(part.toolName);
    if (part.type === "tool-call") changed.input = inputOf(part, call);
    return isSame(part, changed) ? part : (changed as unknown as Part);
  };
  return messages.map((message, at) => {
    if (typeof message.content === "string") return message;
    const content = message.content.map((part, index) => accepted(part, calls[at]?.[index]));
    return content.some((part, index) => part !== message.content[index]) ? { ...message, content } : message;
  });
}

/** The call that each part names, by message and part. */
function callsOf(messages: readonly ChatMessage[]): (Call | undefined)[][] {
  const byId = new Map<string, Call[]>();
  const callOf = (part: Part): Call | undefined => {
    if (part.type === "tool-call") {
      const same = byId.get(part.toolCallId) ?? [];
      const before = same.at(-1);
      if (before) before.isNewest = false;
      const call = { part, ordinal: same.length, isNewest: true, isAnswered: false, hasFailed: false };
      byId.set(part.toolCallId, [...same, call]);
      return call;
    }
    if (part.type !== "tool-result" && part.type !== "tool-approval-request") return undefined;
    const same = byId.get(part.toolCallId) ?? [];
    const call = same.find(({ isAnswered }) => !isAnswered) ?? same.at(-1);
    if (call && part.type === "tool-result") {
      call.isAnswered = true;
      call.hasFailed = /error|denied/.test(toolOutput(part).output.type);
    }
    return call;
  };
  return messages.map(({ content }) => (typeof content === "string" ? [] : content.map(callOf)));
}

function idOf({ part: { toolCallId }, ordinal, isNewest, isAnswered }: Call): string {
  if (isNewest && (ACCEPTED.test(toolCallId) || !isAnswered)) return toolCallId;
  const hash = createHash("sha256")
    .update(JSON.stringify([toolCallId, ordinal]))
    .digest("base64url");
  return `call_${hash.slice(0, 32)}`;
}

function inputOf({ input }: ToolCallPart, { hasFailed }: Call): unknown {
  if (input === null || input === undefined) return {};
  const isObject = typeof input === "object" && !Array.isArray(input);
  return isObject || !hasFailed ? input : { input };
}

function isSame(part: Part, changed: Readonly<Record<string, unknown>>): boolean {
  const fields = part as unknown as Readonly<Record<string, unknown>>;
  return Object.entries(changed).every(([name, value]) => fields[name] === value);
}
