import {
  type ChatMessage,
  type FilePart,
  type Part,
  StoreError,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "@scrollback/store-core";
import { type Check, invalid, isObject, isOneOf, isString } from "@scrollback/store-core/driver";

/** A JSON object of unknown content. */
export type Fields = Record<string, unknown>;

const fieldOwners = Object.entries({ tool_calls: "assistant", refusal: "assistant", tool_call_id: "tool" });

/**
 * One record of OpenAI's chat completions as a message; `readConversation` has the table.
 *
 * @param calls The pending calls: the names of their tools by call id. The function removes the call that the record
 * answers.
 * @throws StoreError `INVALID_ARGUMENT` that names the field and the fix.
 */
export function toChatMessage(record: Fields, calls: Map<string, string>): ChatMessage {
  const { role, name, content, refusal, tool_calls, tool_call_id, ...others } = record;
  if (others.function_call != null) invalid("function_call is deprecated; write it as tool_calls");
  for (const [field, owner] of fieldOwners) {
    if (role !== owner && record[field] != null)
      invalid(`${field} belongs to role "${owner}"; correct one of them`);
  }
  const metadata = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null));
  if (refusal != null || (role === "assistant" && hasRefusal(content))) metadata.refusal = true;
  return {
    ...rolesMessage(record, calls),
    ...(name == null ? {} : { authorName: checked<string>(name, isString, "name") }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

function rolesMessage(record: Fields, calls: Map<string, string>): Pick<ChatMessage, "role" | "content"> {
  const { role, content } = record;
  switch (role) {
    case "system":
    case "developer": {
      const said = contentOf(content, { text: textPart });
      return {
        role: "system",
        content: typeof said === "string" ? said : said.map(({ text }) => text).join("\n"),
      };
    }
    case "user":
      return { role, content: contentOf<Part>(content, { text: textPart, image_url: imagePart }) };
    case "assistant":
      return { role, content: assistantContent(record) };
    case "tool":
      return { role, content: [toolResult(record, calls)] };
    default:
      return invalid(`role must be "system", "developer", "user", "assistant" or "tool"`);
  }
}

function assistantContent({ content, refusal, tool_calls: toolCalls }: Fields): string | Part[] {
  if (refusal != null && content) invalid("refusal stands in the place of content; set content to null");
  const said = refusal == null ? content : checked(refusal, isString, "refusal");
  const kinds = { text: textPart, refusal: refusalPart };
  if (toolCalls == null) return contentOf(said, kinds, " (null only beside tool_calls or a refusal)");
  if (!Array.isArray(toolCalls) || toolCalls.length === 0) {
    invalid("tool_calls must be an array of calls; leave it out where no tool is called");
  }
  const text = said == null || said === "" ? [] : contentOf(said, kinds);
  const calls = toolCalls.map((call, index) => toolCallPart(call, `tool_calls[${index}]`));
  for (const [index, { toolCallId }] of calls.entries()) {
    if (calls.findIndex((call) => call.toolCallId === toolCallId) < index) {
      invalid(
        `tool_calls[${index}].id "${toolCallId}" is taken by an earlier call of this message; give each its own`,
      );
    }
  }
  return [...(typeof text === "string" ? [{ type: "text" as const, text }] : text), ...calls];
}

function toolCallPart(value: unknown, field: string): ToolCallPart {
  const call = checked<Fields>(value, isObject, field);
  if (call.type !== "function")
    invalid(`${field}.type must be "function"; other kinds of calls have no place here`);
  const called = checked<Fields>(call.function, isObject, `${field}.function`);
  const json = checked<string>(called.arguments, isText, `${field}.function.arguments`);
  const input = parseJson(json, `${field}.function.arguments`, `write the JSON of an object, "{}" for none`);
  return {
    type: "tool-call",
    toolCallId: checked(call.id, isString, `${field}.id`),
    toolName: checked(called.name, isString, `${field}.function.name`),
    input: checked(input, isObject, `${field}.function.arguments`, "as JSON"),
  };
}

function toolResult({ tool_call_id: id, content }: Fields, calls: Map<string, string>): ToolResultPart {
  const toolCallId = checked<string>(
    id,
    isString,
    "tool_call_id",
    "the id of the call that this result answers",
  );
  const toolName = calls.get(toolCallId);
  if (toolName === undefined) {
    invalid(
      `tool_call_id "${toolCallId}" answers no open call; put the result once, after the assistant message that makes the call`,
    );
  }
  calls.delete(toolCallId);
  return {
    type: "tool-result",
    toolCallId,
    toolName,
    output: toolOutput(contentOf(content, { text: textPart })),
  };
}

function toolOutput(content: string | TextPart[]): { type: "text" | "json" | "content"; value: unknown } {
  if (typeof content !== "string") return { type: "content", value: content };
  if (/^\s*[[{]/.test(content)) {
    try {
      return { type: "json", value: JSON.parse(content) };
    } catch {
      // Text that only begins like JSON, such as a log line.
    }
  }
  return { type: "text", value: content };
}

/** The content allowed for a role: a string, or parts of the given kinds. */
function contentOf<P>(
  content: unknown,
  kinds: Record<string, (part: Fields, field: string) => P>,
  exception = "",
): string | P[] {
  if (typeof content === "string") return content;
  if (!Array.isArray(content) || content.length === 0) {
    invalid(`content must be a string or a non-empty array of parts${exception}`);
  }
  return content.map((value, index) => {
    const field = `content[${index}]`;
    const part = checked<Fields>(value, isObject, field);
    const type = checked<string>(part.type, isOneOf(...Object.keys(kinds)), `${field}.type`, "for this role");
    const make = kinds[type] as (part: Fields, field: string) => P;
    return make(part, field);
  });
}

function textPart(part: Fields, field: string): TextPart {
  return { type: "text", text: checked(part.text, isText, `${field}.text`) };
}

function refusalPart(part: Fields, field: string): TextPart {
  return { type: "text", text: checked(part.refusal, isText, `${field}.refusal`) };
}

function hasRefusal(content: unknown): boolean {
  return Array.isArray(content) && content.some((part) => part?.type === "refusal");
}

function imagePart(part: Fields, field: string): FilePart {
  const { url, detail } = checked<Fields>(part.image_url, isObject, `${field}.image_url`);
  return {
    type: "file",
    ...imageFile(checked(url, isString, `${field}.image_url.url`), `${field}.image_url.url`),
    ...(detail == null ? {} : { providerOptions: { openai: { imageDetail: detail } } }),
  };
}

function imageFile(url: string, field: string): Pick<FilePart, "data" | "mediaType"> {
  if (!url.startsWith("data:")) {
    const link = URL.parse(url);
    if (!link || !/^https?:$/.test(link.protocol)) invalid(`${field} must be a data:, https: or http: URL`);
    return { data: link, mediaType: "image" };
  }
  const comma = url.indexOf(",");
  const mediaType = /^data:(image\/[\w.+-]+);base64$/.exec(url.slice(0, comma))?.[1];
  const base64 = url.slice(comma + 1);
  const bytes = Buffer.from(base64, "base64");
  // Buffer.from ignores invalid base64, so only encoding it again shows whether all of it was valid.
  if (!mediaType || bytes.length === 0 || bytes.toString("base64") !== base64) {
    invalid(`${field} is not a valid data URL; write data:image/png;base64, and the image's bytes in base64`);
  }
  return { data: new Uint8Array(bytes), mediaType };
}

/** @throws StoreError `INVALID_ARGUMENT` that names `field` and the fix, with the parser's error as its cause. */
export function parseJson(text: string, field: string, fix: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StoreError("INVALID_ARGUMENT", `${field} is not valid JSON; ${fix}`, { cause });
  }
}

const isText: Check = (value) => (typeof value === "string" ? undefined : "must be a string");

/** The value, with the type that `check` proves. `note` ends the error's sentence about the required type. */
function checked<T>(value: unknown, check: Check, field: string, note?: string): T {
  const problem = check(value);
  if (problem) invalid(`${field} ${problem}${note ? `, ${note}` : ""}`);
  return value as T;
}
