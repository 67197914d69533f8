import type { Part } from "@scrollback/store-core";
import type { MessageLosses } from "@scrollback/store-core/internal";
import { filePart } from "./input-files.ts";

const textFields: ReadonlyMap<unknown, "text" | "refusal"> = new Map([
  ...(["output_text", "input_text", "reasoning_text"] as const).map((type) => [type, "text"] as const),
  ["refusal", "refusal"] as const,
]);

/** Converts a text, or a refusal, which becomes text. Undefined for other content. */
export function textPart(one: unknown, path: string, losses: MessageLosses): Part | undefined {
  return textOf("text", one, path, losses);
}

export function reasoningPart(one: unknown, path: string, losses: MessageLosses): Part | undefined {
  return textOf("reasoning", one, path, losses);
}

/** Converts a piece of input from a user or a tool. Undefined if it has no counterpart. */
export function inputPart(one: unknown, path: string, losses: MessageLosses): Part | undefined {
  const { type } = Object(one) as { type?: unknown };
  const isFile = type === "input_image" || type === "input_file" || type === "audio";
  return isFile ? filePart(one as Parameters<typeof filePart>[0], path, losses) : textPart(one, path, losses);
}

function textOf(
  type: "text" | "reasoning",
  one: unknown,
  path: string,
  losses: MessageLosses,
): Part | undefined {
  const { type: kind, text, refusal, ...unread } = Object(one) as Record<string, unknown>;
  const field = textFields.get(kind);
  const value = field === "refusal" ? refusal : text;
  if (field === undefined || typeof value !== "string") return undefined;
  if (field === "refusal") losses.changed(path);
  losses.unread(path, { ...unread, ...(field === "refusal" ? { text } : { refusal }) });
  return { type, text: value };
}
