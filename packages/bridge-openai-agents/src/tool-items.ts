import type { FunctionCallItem, FunctionCallResultItem } from "@openai/agents-core";
import type { Part } from "@scrollback/store-core";
import type { MessageLosses } from "@scrollback/store-core/internal";
import { inputPart } from "./content-parts.ts";
import { filePart } from "./input-files.ts";

/** Converts a function call. Arguments that are not JSON stay a text. */
export function callPart(item: FunctionCallItem, losses: MessageLosses): Part {
  const { type: _, callId, name, arguments: text, status, ...unread } = item;
  losses.unread("", unread);
  // In Scrollback, a call and a result are always complete.
  if (status !== undefined && status !== "completed") losses.changed("status");
  const parsed = typeof text === "string" ? parseJson(text) : { value: text, isExact: false };
  if (!parsed?.isExact) losses.changed("arguments");
  return { type: "tool-call", toolCallId: callId, toolName: name, input: parsed ? parsed.value : text };
}

/** Converts the result of a function. */
export function resultPart(item: FunctionCallResultItem, losses: MessageLosses): Part {
  const { type: _, callId, name, status, output, ...unread } = item;
  losses.unread("", unread);
  // In Scrollback, a call and a result are always complete.
  if (status !== undefined && status !== "completed") losses.changed("status");
  return { type: "tool-result", toolCallId: callId, toolName: name, output: outputOf(output, losses) };
}

function outputOf(output: unknown, losses: MessageLosses): object {
  if (typeof output === "string") return { type: "text", value: output };
  if (!Array.isArray(output)) return singleOutput(output, losses);
  return {
    type: "content",
    value: losses.converted(output, "output", (one, path) => inputPart(one, path, losses)),
  };
}

/** Converts the older form of a result: one text, image or file. */
function singleOutput(output: unknown, losses: MessageLosses): object {
  const { type, ...fields } = Object(output) as Record<string, unknown>;
  if (type === "text" && typeof fields.text === "string") {
    const { text, ...unread } = fields;
    losses.unread("output", unread);
    return { type: "text", value: text };
  }
  const input = inputOf(type, fields);
  const part = input && filePart(input, "output", losses);
  losses.changed("output");
  return { type: "content", value: part ? [part] : [] };
}

/** Returns the file in the form of a user's message. */
function inputOf(type: unknown, fields: Record<string, unknown>): Parameters<typeof filePart>[0] | undefined {
  const { image, file, ...rest } = fields;
  if (type !== "image" && type !== "file") return undefined;
  const given: unknown = type === "image" ? image : file;
  const { data, mediaType, fileId, filename, ...source } = Object(given) as Record<string, unknown>;
  const isInline = typeof data === "string" && typeof mediaType === "string";
  const inline = isInline ? `data:${mediaType};base64,${data}` : undefined;
  const content = inline ?? (typeof given === "string" ? given : { id: fileId, ...source });
  const kind =
    type === "image" ? { type: "input_image", image: content } : { type: "input_file", file: content };
  return { ...kind, ...(filename !== undefined && { filename }), ...rest } as Parameters<typeof filePart>[0];
}

/**
 * Parses JSON text. `isExact` is false if a number in the text has more digits than a JavaScript number can represent.
 *
 * @returns undefined for text that is not JSON.
 */
export function parseJson(text: string): { value: unknown; isExact: boolean } | undefined {
  let isExact = true;
  try {
    const value: unknown = JSON.parse(text, (_key, one, context?: { source?: string }) => {
      if (typeof one === "number" && !isSameNumber(one, context?.source)) isExact = false;
      return one;
    });
    return { value, isExact };
  } catch {
    return undefined;
  }
}

/** Some versions of Node.js do not provide the source. Without it, a safe number counts as exact. */
function isSameNumber(value: number, source: string | undefined): boolean {
  if (!Number.isFinite(value)) return false;
  if (source === undefined || !/^-?\d+$/.test(source)) return true;
  return Number.isSafeInteger(value) || String(value) === source || BigInt(value) === BigInt(source);
}
