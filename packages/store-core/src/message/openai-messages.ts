import { isObject } from "../arguments.ts";
import { blocksOf, contentProblem } from "./blocks.ts";
import type { MessageTraits, Role } from "./message.ts";

/** The fields of a message of chat completions or an item of the Responses API that the traits read. */
type Fields = Readonly<Record<string, unknown>>;

/** Items whose result another item has. */
const calls = /(?:_call|^program|^mcp_approval_request)$/;
const results = /(?:_(?:result|output)|^mcp_approval_response)$/;
/** Calls that hold their own result. What the model says next rests on it. */
const ownResults = /^(?:hosted_tool|web_search|file_search|code_interpreter|image_generation|mcp)_call$/;
/** Items that belong to the item after them. */
const leading: ReadonlySet<string> = new Set(["reasoning", "item_reference", "mcp_list_tools"]);

const roles: Readonly<Record<string, Role>> = {
  ...{ system: "system", developer: "system", user: "user", assistant: "assistant" },
  ...{ tool: "tool", function: "tool" },
};

/**
 * Traits of the messages of OpenAI's chat completions, and of the items of its Responses API, also in the camel case of the OpenAI
 * Agents SDK. Which of them a value is, its own fields tell.
 */
export const openaiMessageTraits: Required<MessageTraits<object>> = Object.freeze({
  role(message: object): Role {
    const { role } = message as Fields;
    const own = typeof role === "string" && Object.hasOwn(roles, role) ? roles[role] : undefined;
    return own ?? (results.test(typeOf(message)) ? "tool" : "assistant");
  },
  toolCalls(message: object): string[] {
    const { tool_calls: listed, function_call: legacy } = message as Fields;
    if (isCall(message)) return [callIdOf(message)];
    const ids = Array.isArray(listed) ? listed.map(({ id }: Fields) => String(id)) : [];
    // The older form of a call has no id: its result has its name.
    return isObject(legacy) ? ids : [...ids, String((legacy as Fields).name)];
  },
  toolResults(message: object): string[] {
    const { role, tool_call_id: id, name, caller } = message as Fields;
    if (role === "tool") return [String(id)];
    if (role === "function") return [String(name)];
    if (results.test(typeOf(message))) return [callIdOf(message)];
    // The call of a program is nothing without the program, whose result comes after those of its calls.
    const { caller_id: program } = Object(caller) as Fields;
    return isCall(message) && typeof program === "string" ? [program] : [];
  },
  isReasoning: (message: object) =>
    leading.has(typeOf(message)) ||
    ownResults.test(typeOf(message)) ||
    (message as Fields).phase === "commentary",
  isCompaction: (message: object) => typeOf(message) === "compaction",
  check(message: unknown): string | undefined {
    if (isObject(message)) return "must be an object: a message or an item";
    const fields = message as Fields;
    if (fields.role === undefined || typeOf(fields) !== "message") return itemProblem(fields);
    return messageProblem(fields);
  },
});

function itemProblem(item: Fields): string | undefined {
  if (typeof item.type !== "string") return "type must be a string, or role a role of a message";
  if (!/^(?:function|custom_tool)_call(?:_output)?$/.test(item.type)) return undefined;
  return typeof item.call_id === "string"
    ? undefined
    : `call_id must be a string (an item of type "${item.type}")`;
}

function messageProblem({ role, content, tool_call_id: id, name, ...fields }: Fields): string | undefined {
  if (!Object.hasOwn(roles, String(role)))
    return `role must be "system", "developer", "user", "assistant", "tool" or "function"`;
  if (role === "tool" && typeof id !== "string") return 'tool_call_id must be a string (role "tool")';
  if (role === "function" && typeof name !== "string") return 'name must be a string (role "function")';
  const { tool_calls: listed = null, function_call: legacy = null } = fields;
  if (listed !== null) {
    if (!Array.isArray(listed)) return "tool_calls must be an array";
    const wrong = Array.from(listed).findIndex(
      (call: unknown) => isObject(call) || typeof (call as Fields).id !== "string",
    );
    if (wrong >= 0) return `tool_calls[${wrong}].id must be a string`;
  }
  if (legacy !== null && (isObject(legacy) || typeof (legacy as Fields).name !== "string"))
    return "function_call.name must be a string";
  const isEmpty = content === undefined || content === null;
  const problem = isEmpty && role !== "user" ? undefined : contentProblem(content);
  if (problem) return problem;
  const foreign = blocksOf(content).findIndex(({ tool_use_id: call, type }) => call ?? type === "tool_use");
  return foreign < 0 ? undefined : `content[${foreign}] is a block of the Anthropic SDK, not of OpenAI's`;
}

function typeOf(message: object): string {
  return String((message as Fields).type ?? "message");
}

function isCall(message: object): boolean {
  return calls.test(typeOf(message)) && !ownResults.test(typeOf(message));
}

/** The id of the call that an item is, or whose result it is; `""` for a tool search of the API itself. */
function callIdOf(item: object): string {
  const { call_id: snakeCase, callId, approval_request_id: request, id, type } = item as Fields;
  // Its type has no other id: that of the call, or of the request.
  const own = type === "mcp_approval_request" || type === "local_shell_call_output" ? id : undefined;
  return String(snakeCase ?? callId ?? request ?? own ?? "");
}
