import { parseFileReference } from "@scrollback/chats";
import { fileSource, parseDataUrl } from "@scrollback/store-core/internal";
import type { Block } from "./api-types.ts";
import { cutLine, cutText, cutValue, shownText, textIn } from "./texts.ts";

/** A part of a message, and its content if it is a file. */
export interface MessagePart extends Block {
  readonly source?: NonNullable<ReturnType<typeof fileSource>>;
}

type Fields = Readonly<Record<string, unknown>>;

/** The parts of a message of any known shape: of `ChatMessage`, and of the AI SDK, Anthropic and OpenAI. */
export function partsOf(message: unknown): readonly MessagePart[] {
  const { content, parts, tool_calls: calls, ...others } = Object(message) as Fields;
  const { type, metadata } = others;
  // Layers store their values as the metadata of empty messages.
  if (content === "" && metadata !== undefined) return [{ kind: "data", body: cutValue(metadata) }];
  const isToolResult = others.role === "tool" && typeof others.tool_call_id === "string";
  if (isToolResult) return [result("", content, false, shownText(others.tool_call_id))];
  const all = [content, parts].flatMap((one) => (Array.isArray(one) ? one : []));
  const found = [
    ...(typeof content === "string" && content !== "" ? [textPart("text", content)] : []),
    ...all.flatMap(partOf),
    ...(Array.isArray(calls) ? calls : []).flatMap(partOf),
  ];
  // An item of OpenAI's Responses is a part itself.
  const own = typeof type === "string" && type !== "message" ? partOf(message) : [];
  if (own.length > 0 || found.length > 0) return [...own, ...found];
  const isEmpty = content === "" || all.length > 0;
  return isEmpty ? [] : [{ kind: "data", body: cutValue(message) }];
}

function partOf(part: unknown): MessagePart[] {
  if (typeof part === "string") return [textPart("text", part)];
  const fields = Object(part) as Fields;
  const type = textIn(fields, "type") ?? "";
  const text = textIn(fields, "text", "thinking", "refusal");
  const id = textIn(fields, "toolCallId", "tool_use_id", "call_id", "id") ?? "";
  switch (type) {
    case "step-start":
      return [];
    case "text":
    case "input_text":
    case "output_text":
    case "refusal":
      return [textPart("text", text ?? "")];
    case "thinking":
      return [textPart("reasoning", text ?? "")];
    case "reasoning": {
      const summary = Array.isArray(fields.summary) ? fields.summary : [];
      return [textPart("reasoning", text ?? summary.map((one) => textIn(one, "text") ?? "").join("\n"))];
    }
    case "tool-call":
    case "tool_use":
      return [call(textIn(fields, "toolName", "name") ?? "", fields.input, id)];
    case "function_call":
      return [call(textIn(fields, "name") ?? "", fields.arguments, id)];
    case "function": {
      const { name, arguments: input } = Object(fields.function) as Fields;
      return [call(shownText(name), input, id)];
    }
    case "tool-result":
      return [result(textIn(fields, "toolName") ?? "", fields.output, fields.isError === true, id)];
    case "tool_result":
      return [result("", fields.content, fields.is_error === true, id)];
    case "function_call_output":
      return [result("", fields.output, false, id)];
  }
  if (type.startsWith("tool-") || type === "dynamic-tool") {
    const name = textIn(fields, "toolName") ?? type.slice("tool-".length);
    const { state, input, output, errorText } = fields;
    if (state === undefined) return [{ kind: "data", label: cutLine(type), body: cutValue(part) }];
    const isDone = state === "output-available" || state === "output-error";
    return [
      call(name, input, id),
      ...(isDone ? [result(name, errorText ?? output, state === "output-error", id)] : []),
    ];
  }
  const file = filePart(fields);
  return file ? [file] : [{ kind: "data", label: cutLine(type), body: cutValue(part) }];
}

function textPart(kind: "text" | "reasoning", text: string): MessagePart {
  return { kind, body: cutText(text) };
}

function call(name: string, input: unknown, id: string): MessagePart {
  return { kind: "call", label: cutLine(`${name} ${id}`), body: cutValue(jsonIn(input)) };
}

function result(name: string, output: unknown, isError: boolean, id: string): MessagePart {
  return { kind: "result", label: cutLine(`${name} ${id}`), isError, body: cutValue(output) };
}

/** OpenAI's arguments are JSON as text. */
function jsonIn(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A file of any SDK; undefined for another part. */
function filePart(part: Fields): MessagePart | undefined {
  const { type, source } = part;
  const isFile = ["file", "image", "reasoning-file", "image_url", "input_image", "document"].includes(
    shownText(type),
  );
  if (!isFile) return undefined;
  const nested = (value: unknown) => (Object(value) as Fields).url ?? value;
  const content = part.data ?? part.url ?? part.image ?? nested(part.image_url) ?? nested(source);
  const data = (Object(content) as Fields).type === "base64" ? (content as Fields).data : content;
  const url = typeof data === "string" ? data : data instanceof URL ? data.href : "";
  const mediaType =
    textIn(part, "mediaType") ??
    textIn(source, "media_type") ??
    parseFileReference(url)?.mediaType ??
    parseDataUrl(url)?.mediaType ??
    "application/octet-stream";
  const found = fileSource(data, mediaType);
  const isServed = found?.type === "data" || (found?.type === "url" && isStored(found.url));
  return {
    kind: "file",
    ...(found && !isServed && { body: cutValue(found.type === "url" ? found.url : found) }),
    file: {
      mediaType: cutLine(mediaType),
      name: cutLine(textIn(part, "filename", "name", "title") ?? ""),
      isServed,
      isImage: isServed && /^image\/(png|jpeg|gif|webp|avif|bmp)$/i.test(mediaType),
    },
    ...(found && { source: found }),
  };
}

/** Whether the stores have the content of a URL. */
function isStored(url: string): boolean {
  return parseFileReference(url) !== undefined || parseDataUrl(url) !== undefined;
}
