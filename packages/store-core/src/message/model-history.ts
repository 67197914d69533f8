import { sha256 } from "#runtime";
import { isObject, isPlainObject } from "../arguments.ts";
import { withoutBlanks } from "./blank-messages.ts";
import { pairedHistory, type ReportTarget, reportUnpaired } from "./history.ts";
import type { ChatMessage, Part, ToolCallPart } from "./message.ts";
import { toolOutput } from "./tool-output.ts";

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
 * - An item id that another message has, and ids and signatures that are not texts, are left out of the provider options.
 * - Lone surrogates become U+FFFD, because they have no UTF-8.
 * - A call without a result runs now or later, so it is not changed.
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
  const paired = pairedHistory(messages);
  reportUnpaired(target, paired.unpaired);
  return withoutBlanks(withAcceptedMetadata(withAcceptedCalls(paired.messages, tools)));
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
    if (!call) return wellFormed(part);
    const toolCallId = idOf(call);
    // A provider finds its own item by the id that it gave.
    const isOther = toolCallId !== call.part.toolCallId;
    const changed: Record<string, unknown> = { ...(isOther ? withoutItemIds(part) : part), toolCallId };
    if (part.type === "tool-call" || part.type === "tool-result") changed.toolName = nameOf(part.toolName);
    if (part.type === "tool-call" && call.isAnswered) changed.input = inputOf(part, call);
    const made = isSame(part, changed) ? part : (changed as unknown as Part);
    return call.isAnswered ? wellFormed(made) : made;
  };
  return messages.map((message, at) =>
    typeof message.content === "string"
      ? wellFormed(message)
      : withParts(message, (part, index) => accepted(part, calls[at]?.[index])),
  );
}

/** A message with changed parts; the same message if none changes. */
function withParts(message: ChatMessage, change: (part: Part, index: number) => Part): ChatMessage {
  if (typeof message.content === "string") return message;
  const content = message.content.map(change);
  return content.some((part, index) => part !== message.content[index]) ? { ...message, content } : message;
}

/** The call that each part names, by message and part. */
function callsOf(messages: readonly ChatMessage[]): (Call | undefined)[][] {
  const byId = new Map<string, Call[]>();
  const callOf = (part: Part): Call | undefined => {
    if (part.type === "tool-call") {
      const same = byId.get(part.toolCallId) ?? [];
      const before = same.at(-1);
      if (before) before.isNewest = false;
      const call: Call = { part, ordinal: same.length, isNewest: true, isAnswered: false, hasFailed: false };
      same.push(call);
      byId.set(part.toolCallId, same);
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

function idOf({ part, ordinal, isNewest, isAnswered }: Call): string {
  const { toolCallId, providerExecuted } = part;
  // What a provider ran has the ids of its own rules.
  if (providerExecuted) return toolCallId;
  if (isNewest && (ACCEPTED.test(toolCallId) || !isAnswered)) return toolCallId;
  return `call_${sha256(JSON.stringify([toolCallId, ordinal])).slice(0, 32)}`;
}

function inputOf({ input }: ToolCallPart, { hasFailed }: Call): unknown {
  if (input === null || input === undefined) return {};
  return isObject(input) === undefined || !hasFailed ? input : { input };
}

function isSame(part: Part, changed: Readonly<Record<string, unknown>>): boolean {
  const fields = part as unknown as Readonly<Record<string, unknown>>;
  return Object.entries(changed).every(([name, value]) => fields[name] === value);
}

/** The metadata of providers that refuse what is not text in it, or is there twice. */
const references: readonly string[] = ["itemId", "signature", "redactedData"];

function withAcceptedMetadata(messages: readonly ChatMessage[]): ChatMessage[] {
  /** The items of earlier messages. One item may be several parts of a message. */
  const known = new Set<unknown>();
  return messages.map((message) => {
    const own: unknown[] = [];
    const made = withParts(message, (part) =>
      withOptions(part, (name, value) => {
        if (!references.includes(name)) return true;
        if (name === "itemId") own.push(value);
        return typeof value === "string" && !(name === "itemId" && known.has(value));
      }),
    );
    for (const id of own) known.add(id);
    return made;
  });
}

function withoutItemIds(part: Part): object {
  return withOptions(part, (name) => name !== "itemId");
}

/** A part with the provider options that `keeps` accepts; the same part if it accepts all. */
function withOptions(part: Part, keeps: (name: string, value: unknown) => boolean): Part {
  const { providerOptions } = part as { readonly providerOptions?: Readonly<Record<string, unknown>> };
  if (!providerOptions) return part;
  const made = Object.entries(providerOptions).map(([provider, fields]) => {
    const entries = isObject(fields) === undefined ? Object.entries(fields as object) : [];
    const kept = entries.filter(([name, value]) => keeps(name, value));
    return [provider, kept.length === entries.length ? fields : Object.fromEntries(kept)] as const;
  });
  const isChanged = made.some(([provider, fields]) => fields !== providerOptions[provider]);
  return isChanged ? ({ ...part, providerOptions: Object.fromEntries(made) } as Part) : part;
}

/**
 * A value without lone surrogates in its texts: they become U+FFFD. Plain objects and arrays are copied if something in them changes;
 * other objects, such as bytes, are kept.
 */
function wellFormed<T>(value: T): T;
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) {
    const made = value.map((one) => wellFormed(one));
    return made.some((one, index) => one !== value[index]) ? made : value;
  }
  if (isPlainObject(value) !== undefined) return value;
  const entries = Object.entries(value as object);
  const made = entries.map(([name, one]) => [name.toWellFormed(), wellFormed(one)] as const);
  const isChanged = made.some(
    ([name, one], index) => name !== entries[index]?.[0] || one !== entries[index]?.[1],
  );
  return isChanged ? Object.fromEntries(made) : value;
}
