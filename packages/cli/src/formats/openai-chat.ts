import type { ChatMessage, FilePart, Part, ToolCallPart, ToolResultPart } from "@scrollback/store-core";

/** A message in OpenAI's chat format, with the fields that the CLI reads. */
type OpenAiMessage = Record<string, unknown>;

/** A thread in OpenAI's chat format, and the content that the format cannot represent, by name and count. */
export interface OpenAiThread {
  readonly messages: readonly OpenAiMessage[];
  readonly leftOut: ReadonlyMap<string, number>;
}

/**
 * Messages in OpenAI's chat format, as {@link fromOpenAi} and OpenAI take them. A message with several tool results becomes several. Text of
 * a tool, and a result whose call does not come before it, are left out.
 */
export function toOpenAi(messages: readonly ChatMessage[]): OpenAiThread {
  const leftOut = new Map<string, number>();
  const leaveOut = (what: string) => {
    leftOut.set(what, (leftOut.get(what) ?? 0) + 1);
  };
  const callIds = new Set<string>();
  return { messages: messages.flatMap((message) => toOpenAiMessages(message, callIds, leaveOut)), leftOut };
}

function toOpenAiMessages(
  message: ChatMessage,
  callIds: Set<string>,
  leaveOut: (what: string) => void,
): OpenAiMessage[] {
  const { role, authorName, content } = message;
  for (const field of ["metadata", "providerOptions"] as const) {
    if (message[field] !== undefined) leaveOut(`${field} of a message`);
  }
  const name = typeof authorName === "string" ? { name: authorName } : {};
  if (typeof content === "string") {
    if (role !== "tool") return [{ role, content, ...name }];
    leaveOut("tool message without a call id");
    return [];
  }
  const results: OpenAiMessage[] = [];
  const calls: OpenAiMessage[] = [];
  for (const part of role === "assistant" ? content : [])
    if (part.type === "tool-call") callIds.add(part.toolCallId);
  const parts: OpenAiMessage[] = [];
  for (const part of content) {
    if (part.type === "tool-result" && !callIds.has(part.toolCallId))
      leaveOut("tool result without its call");
    else if (part.type === "tool-result") {
      results.push({ role: "tool", tool_call_id: part.toolCallId, content: shownOutput(part.output) });
    } else if (part.type === "tool-call" && role === "assistant") {
      calls.push({
        id: part.toolCallId,
        type: "function",
        function: { name: part.toolName, arguments: JSON.stringify(part.input ?? {}) },
      });
    } else {
      const shown = toOpenAiPart(part, role);
      if (shown) parts.push(shown);
      else leaveOut(`part of type ${part.type}`);
    }
  }
  if (parts.length === 0 && calls.length === 0) return results;
  const isText = parts.every(({ type }) => type === "text");
  const text = parts.map(({ text }) => text).join("");
  const shown = {
    role,
    content: parts.length === 0 ? null : isText && (parts.length === 1 || role !== "user") ? text : parts,
    ...name,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return [shown, ...results];
}

function toOpenAiPart(part: Part, role: ChatMessage["role"]): OpenAiMessage | undefined {
  if (part.type === "text") return role === "tool" ? undefined : { type: "text", text: part.text };
  // Only user messages can contain files.
  if (part.type !== "file" || role !== "user") return undefined;
  const { mediaType, filename } = part;
  const base64 = base64Of(part);
  const url = urlOfFile(part) ?? (base64 && `data:${mediaType};base64,${base64}`);
  if (mediaType.startsWith("image/")) return url ? { type: "image_url", image_url: { url } } : undefined;
  if (base64 === undefined) return undefined;
  const format = audioFormats[mediaType];
  if (format) return { type: "input_audio", input_audio: { data: base64, format } };
  return {
    type: "file",
    file: { filename: filename ?? "file", file_data: `data:${mediaType};base64,${base64}` },
  };
}

const audioFormats: Readonly<Record<string, string>> = { "audio/wav": "wav", "audio/mpeg": "mp3" };

function urlOfFile({ data }: FilePart): string | undefined {
  if (data instanceof URL) return data.href;
  if (typeof data === "string") return /^(https?|data):/.test(data) ? data : undefined;
  return "url" in data && data.url instanceof URL ? data.url.href : undefined;
}

function base64Of({ data }: FilePart): string | undefined {
  const bytes = typeof data === "object" && "type" in data && data.type === "data" ? data.data : data;
  if (bytes instanceof Uint8Array) return Buffer.from(bytes).toString("base64");
  if (bytes instanceof ArrayBuffer) return Buffer.from(bytes).toString("base64");
  return typeof bytes === "string" && !/^(https?|data):/.test(bytes) ? bytes : undefined;
}

/** A tool's result as text, as in OpenAI's format. */
function shownOutput(output: unknown): string {
  const { type, value } = Object(output) as { type?: unknown; value?: unknown };
  if ((type === "text" || type === "error-text") && typeof value === "string") return value;
  if (typeof output === "string") return output;
  return JSON.stringify(type === "json" || type === "error-json" ? value : output) ?? "null";
}

/** A wrong value, with its position. */
export class OpenAiFormatError extends Error {
  override readonly name = "OpenAiFormatError";
}

function refuse(where: string, problem: string): never {
  throw new OpenAiFormatError(`${where} ${problem}`);
}

/** Messages of OpenAI's chat format. @throws OpenAiFormatError that names the field at fault. */
export function fromOpenAi(messages: unknown): ChatMessage[] {
  if (!Array.isArray(messages)) return refuse("messages", "must be a list");
  const toolNames = new Map<string, string>();
  return messages.map((message: unknown, index) =>
    fromOpenAiMessage(message, `messages[${index}]`, toolNames),
  );
}

function fromOpenAiMessage(value: unknown, where: string, toolNames: Map<string, string>): ChatMessage {
  const message = objectAt(value, where);
  const { role, name } = message;
  const author = name === undefined ? {} : { authorName: textAt(name, `${where}.name`) };
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", content: plainText(message.content, `${where}.content`), ...author };
    case "user":
      return { role, content: userContent(message.content, `${where}.content`), ...author };
    case "assistant":
      return { role, content: assistantContent(message, where, toolNames), ...author };
    case "tool":
      return { role, content: [toolResult(message, where, toolNames)] };
    default:
      return refuse(
        `${where}.role`,
        `must be "system", "developer", "user", "assistant" or "tool", not ${JSON.stringify(role)}`,
      );
  }
}

function userContent(content: unknown, where: string): string | Part[] {
  if (!Array.isArray(content)) return textAt(content, where, "a string or a list of parts");
  return content.map((value: unknown, index): Part => {
    const at = `${where}[${index}]`;
    const part = objectAt(value, at);
    switch (part.type) {
      case "text":
        return { type: "text", text: textAt(part.text, `${at}.text`) };
      case "image_url": {
        const { url } = objectAt(part.image_url, `${at}.image_url`);
        return fileOf(textAt(url, `${at}.image_url.url`), "image/*");
      }
      case "input_audio": {
        const audio = objectAt(part.input_audio, `${at}.input_audio`);
        const format = textAt(audio.format, `${at}.input_audio.format`);
        const mediaType = format === "mp3" ? "audio/mpeg" : `audio/${format}`;
        return { type: "file", data: textAt(audio.data, `${at}.input_audio.data`), mediaType };
      }
      case "file": {
        const file = objectAt(part.file, `${at}.file`);
        const filename =
          file.filename === undefined ? {} : { filename: textAt(file.filename, `${at}.file.filename`) };
        const data = textAt(file.file_data, `${at}.file.file_data`);
        return { ...fileOf(data, "application/octet-stream"), ...filename };
      }
      default:
        return refuse(`${at}.type`, `must be "text", "image_url", "input_audio" or "file"`);
    }
  });
}

/** A file part from a URL; a data URL is decoded. */
export function fileOf(url: string, otherwise: string): FilePart {
  const [, mediaType, data] = /^data:([\w.+-]+\/[\w.+-]+);base64,(.*)$/s.exec(url) ?? [];
  return data === undefined || mediaType === undefined
    ? { type: "file", data: url, mediaType: otherwise }
    : { type: "file", data, mediaType };
}

function assistantContent(
  message: Readonly<Record<string, unknown>>,
  where: string,
  toolNames: Map<string, string>,
): string | Part[] {
  const { content, refusal, tool_calls: calls } = message;
  if (message.function_call !== undefined) refuse(`${where}.function_call`, "is obsolete; write tool_calls");
  const given = content == null && typeof refusal === "string" ? refusal : content;
  const text = given == null ? "" : plainText(given, `${where}.content`);
  if (calls === undefined) {
    return given == null ? refuse(`${where}.content`, "must be a string if there are no tool_calls") : text;
  }
  if (!Array.isArray(calls)) return refuse(`${where}.tool_calls`, "must be a list");
  const parts = calls.map((call: unknown, index) => toolCall(call, `${where}.tool_calls[${index}]`));
  for (const { toolCallId, toolName } of parts) toolNames.set(toolCallId, toolName);
  return text === "" ? parts : [{ type: "text", text }, ...parts];
}

function toolCall(value: unknown, where: string): ToolCallPart {
  const call = objectAt(value, where);
  if (call.type !== "function") refuse(`${where}.type`, `must be "function"`);
  const called = objectAt(call.function, `${where}.function`);
  const input = textAt(called.arguments, `${where}.function.arguments`);
  return {
    type: "tool-call",
    toolCallId: textAt(call.id, `${where}.id`),
    toolName: textAt(called.name, `${where}.function.name`),
    input: parsed(input, `${where}.function.arguments`),
  };
}

function parsed(json: string, where: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return refuse(where, "must be JSON in a string");
  }
}

function toolResult(
  message: Readonly<Record<string, unknown>>,
  where: string,
  toolNames: ReadonlyMap<string, string>,
): ToolResultPart {
  const toolCallId = textAt(message.tool_call_id, `${where}.tool_call_id`);
  const toolName =
    toolNames.get(toolCallId) ??
    refuse(`${where}.tool_call_id`, "must be the id of a tool call that came before");
  const value = plainText(message.content, `${where}.content`);
  return { type: "tool-result", toolCallId, toolName, output: { type: "text", value } };
}

/** Text, or a list of text parts. */
function plainText(content: unknown, where: string): string {
  if (!Array.isArray(content)) return textAt(content, where, "a string or a list of parts");
  return content
    .map((value: unknown, index) => {
      const part = objectAt(value, `${where}[${index}]`);
      if (part.type === "refusal") return textAt(part.refusal, `${where}[${index}].refusal`);
      return part.type === "text"
        ? textAt(part.text, `${where}[${index}].text`)
        : refuse(`${where}[${index}].type`, `must be "text"`);
    })
    .join("");
}

function objectAt(value: unknown, where: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  return refuse(where, "must be an object");
}

function textAt(value: unknown, where: string, what = "a string"): string {
  if (typeof value !== "string") return refuse(where, `must be ${what}`);
  return value;
}
