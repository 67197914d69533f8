import { invalid } from "../arguments.ts";
import type { MessageKind } from "../codec/record-location.ts";
import { StoreError } from "../errors.ts";
import type { ChatMessage, MessageTraits, Part, Role } from "./message.ts";

const roles: readonly unknown[] = ["system", "user", "assistant", "tool"] satisfies Role[];
const requiredStrings: Record<string, readonly string[]> = {
  text: ["text"],
  reasoning: ["text"],
  "tool-call": ["toolCallId", "toolName"],
  "tool-result": ["toolCallId", "toolName"],
};

function checkPart(part: unknown, index: number): string | undefined {
  if (typeof part !== "object" || part === null) return `content[${index}] must be an object with a type`;
  const fields = part as Record<string, unknown>;
  if (typeof fields.type !== "string") return `content[${index}].type must be a string`;
  const required = Object.hasOwn(requiredStrings, fields.type) ? requiredStrings[fields.type] : undefined;
  if (!required) {
    const foreign = foreignPart(fields);
    return foreign && `content[${index}] ${foreign}`;
  }
  const missing = required.find((field) => typeof fields[field] !== "string");
  return missing && `content[${index}].${missing} must be a string (a part of type "${fields.type}")`;
}

const NO_IDS: readonly string[] = Object.freeze([]);

function idsOfParts(parts: readonly Part[], type: "tool-call" | "tool-result"): string[] {
  const ids: string[] = [];
  for (const part of parts) if (part.type === type) ids.push(part.toolCallId);
  return ids;
}

/** The `type` in the metadata of a message that summarises the messages before it. It must not change: stored histories hold it. */
const SUMMARY = "scrollback.summary";

const isSummary = ({ content, metadata }: ChatMessage) =>
  typeof content === "string" &&
  typeof metadata === "object" &&
  metadata !== null &&
  "type" in metadata &&
  metadata.type === SUMMARY;

/**
 * Whether a part stands for the messages before it, as the AI SDK's providers return it: OpenAI's is a custom part, Anthropic's a
 * text with a mark for the provider. `marks` are the part's values for providers, by the provider's name.
 */
export function isCompactionPart(part: object, marks: unknown): boolean {
  const { type, kind } = part as { type?: unknown; kind?: unknown };
  if (type === "custom") return typeof kind === "string" && kind.endsWith(".compaction");
  if (type !== "text" || typeof marks !== "object" || marks === null) return false;
  return Object.values(marks).some(
    (mark: unknown) => (Object(mark) as { type?: unknown }).type === "compaction",
  );
}

/**
 * The traits of {@link ChatMessage}; the default. `check` refuses tool calls and results in the formats of other SDKs: trimming would
 * not see them.
 */
export const chatMessageTraits: Required<MessageTraits<ChatMessage>> = Object.freeze({
  role: (message: ChatMessage) => message.role,
  toolCalls: ({ content }: ChatMessage) =>
    typeof content === "string" ? NO_IDS : idsOfParts(content, "tool-call"),
  toolResults: ({ content }: ChatMessage) =>
    typeof content === "string" ? NO_IDS : idsOfParts(content, "tool-result"),
  isReasoning: ({ role, content }: ChatMessage) =>
    role === "assistant" &&
    typeof content !== "string" &&
    content.length > 0 &&
    content.every(({ type }) => type === "reasoning" || type === "reasoning-file"),
  isCompaction(message: ChatMessage): boolean {
    const { role, content } = message;
    if (role !== "assistant") return false;
    if (typeof content === "string") return isSummary(message);
    return content.some((part) => isCompactionPart(part, "providerOptions" in part && part.providerOptions));
  },
  check(message: unknown): string | undefined {
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      return "must be an object with a role and content";
    }
    const fields = message as Record<string, unknown>;
    const { role, content } = fields;
    const foreign = foreignMessage(fields);
    if (foreign) return foreign;
    if (!roles.includes(role)) return `role must be "system", "user", "assistant" or "tool"`;
    if (typeof content === "string") return undefined;
    if (!Array.isArray(content)) return "content must be a string or an array of parts";
    for (let index = 0; index < content.length; index++) {
      const problem = checkPart(content[index], index);
      if (problem) return problem;
    }
    return undefined;
  },
});

/** Returns the kind of a message. @throws StoreError `INVALID_ARGUMENT` if the traits return an unknown role. */
export function kindOf<M>(message: M, traits: MessageTraits<M>): MessageKind {
  const role = traits.role(message);
  if (!roles.includes(role)) {
    throw new StoreError("INVALID_ARGUMENT", "traits.role must return system, user, assistant or tool");
  }
  const makesCall = traits.toolCalls(message).length > 0;
  const bearsResult = role === "tool" || traits.toolResults(message).length > 0;
  if (!makesCall && !bearsResult && traits.isCompaction?.(message)) return "k";
  if (role === "system") return "s";
  if (bearsResult) return makesCall ? "b" : "t";
  if (role === "user") return "u";
  return makesCall || traits.isReasoning?.(message) ? "c" : "o";
}

/**
 * Checks the input of a conversion.
 *
 * @param check Returns the problem of a value that is not a message. Default: the check of {@link chatMessageTraits}.
 * @throws StoreError `INVALID_ARGUMENT` that names `owner` and the index of the first value that is not a message.
 */
export function checkMessages(
  owner: string,
  messages: unknown,
  check: (message: unknown) => string | undefined = (message) => chatMessageTraits.check?.(message),
): void {
  if (!Array.isArray(messages)) invalid(`${owner}: messages must be an array of messages`);
  // By index, because a hole in the array is not a message either.
  for (let index = 0; index < messages.length; index++) {
    const problem = check(messages[index]);
    if (problem) invalid(`${owner}: messages[${index}]: ${problem}`);
  }
}

/** The fields of a message or part. */
type Fields = Readonly<Record<string, unknown>>;

const TRAITS = {
  openai: 'give the stores the option traits: openaiTraits of "@scrollback/store-core/openai"',
  anthropic: 'give the stores the option traits: anthropicTraits of "@scrollback/store-core/anthropic"',
  other: "convert the message, or give the stores the option traits with your own traits for its type",
} as const;

/** Fields of messages that hold tool calls, or name the call of a result. */
const messageFields = Object.entries({
  tool_calls: "openai",
  tool_call_id: "openai",
  function_call: "openai",
  toolCalls: "other",
  toolCallId: "other",
  toolInvocations: "other",
} as const);

/** Parts that are tool calls. */
const calls: ReadonlySet<unknown> = new Set([
  ...["tool_use", "server_tool_use", "mcp_tool_use"],
  ...["tool_call", "function_call", "server_tool_call", "toolCall", "tool-invocation"],
]);

/** Fields of parts that name the call of a result. */
const references = ["tool_use_id", "tool_call_id", "call_id"] as const;

const items = /^(?:.+_(?:call|output|result|approval_request|approval_response)|program)$/;

/** The problem of a message with tool calls or results of another SDK, whose ids the default traits do not find. */
function foreignMessage(message: Fields): string | undefined {
  const { role, type } = message;
  if (role === "developer" || role === "function")
    return `role "${role}" belongs to the OpenAI SDK; ${TRAITS.openai}`;
  if (role === undefined && typeof type === "string" && items.test(type))
    return `type "${type}" belongs to an item of OpenAI's Responses API; ${TRAITS.openai}`;
  for (const [field, owner] of messageFields) {
    const value = message[field];
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue;
    return `${field} is a tool call or result in ${owner === "openai" ? "the OpenAI" : "another"} SDK's format; ${TRAITS[owner]}`;
  }
  return undefined;
}

/** The problem of a part that is a tool call or result of another SDK, as the end of a sentence. */
function foreignPart(part: Fields): string | undefined {
  const { type } = part;
  const isResult = references.some((field) => typeof part[field] === "string");
  if (!isResult && !calls.has(type)) return undefined;
  const isAnthropic = String(type).endsWith("tool_use") || typeof part.tool_use_id === "string";
  const format = `${isAnthropic ? "the Anthropic" : "another"} SDK's format`;
  return `is a tool call or result in ${format} (type "${type}"); ${TRAITS[isAnthropic ? "anthropic" : "other"]}`;
}
