import { isObject } from "../arguments.ts";

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
export function foreignMessage(message: Fields): string | undefined {
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
export function foreignPart(part: Fields): string | undefined {
  const { type } = part;
  const isResult = references.some((field) => typeof part[field] === "string");
  if (!isResult && !calls.has(type)) return undefined;
  const isAnthropic = String(type).endsWith("tool_use") || typeof part.tool_use_id === "string";
  const format = `${isAnthropic ? "the Anthropic" : "another"} SDK's format`;
  return `is a tool call or result in ${format} (type "${type}"); ${TRAITS[isAnthropic ? "anthropic" : "other"]}`;
}

/** The content of a message as a list of blocks, for the traits of other SDKs. A text has no blocks. */
export function blocksOf(content: unknown): readonly Fields[] {
  return Array.isArray(content) ? content : [];
}

/** The problem of content that should be a text or an array of blocks with a type. */
export function contentProblem(content: unknown): string | undefined {
  if (typeof content === "string") return undefined;
  if (!Array.isArray(content)) return "content must be a string or an array of blocks";
  for (let index = 0; index < content.length; index++) {
    const block: unknown = content[index];
    if (isObject(block) || typeof (block as Fields).type !== "string")
      return `content[${index}] must be an object with a type`;
  }
  return undefined;
}
