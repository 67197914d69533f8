import type { ChatMessage, Part } from "@scrollback/store-core";
import {
  type Conversion,
  checkMessages,
  convertMessages,
  type MessageLosses,
  plainJson,
  toolOutput,
} from "@scrollback/store-core/internal";
import { type ModelMessage, modelMessageSchema } from "ai";
import { providerOptionsOf } from "./provider-options.ts";

/** The fields of each part by role, as in the SDK's types. */
const files = { file: ["data", "mediaType", "filename"], image: ["image", "mediaType"] };
const partFields: Readonly<Record<ChatMessage["role"], Readonly<Record<string, readonly string[]>>>> = {
  system: { text: ["text"] },
  user: { text: ["text"], ...files },
  assistant: {
    ...{ text: ["text"], reasoning: ["text"], custom: ["kind"] },
    ...{ ...files, "reasoning-file": ["data", "mediaType"] },
    "tool-call": ["toolCallId", "toolName", "input", "providerExecuted"],
    "tool-result": ["toolCallId", "toolName", "output"],
    "tool-approval-request": [
      ...["approvalId", "toolCallId", "reason", "isAutomatic", "signature", "inputSchemaInput"],
    ],
  },
  tool: {
    "tool-result": ["toolCallId", "toolName", "output"],
    "tool-approval-response": ["approvalId", "approved", "reason", "providerExecuted"],
  },
};

/**
 * Converts Scrollback messages to model messages of the AI SDK. Parts stay unchanged, except that a tool result in none of the
 * SDK's forms becomes `text` or `json`, and an image of an answer becomes a file. Each message passes the SDK's
 * `modelMessageSchema`.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a message.
 */
export function toModelMessages(messages: readonly ChatMessage[]): Conversion<ModelMessage> {
  return convertMessages("toModelMessages", messages, addModelMessage);
}

function addModelMessage(
  made: ModelMessage[],
  { role, content, providerOptions, ...unread }: ChatMessage,
  losses: MessageLosses,
): boolean {
  losses.unread("", unread);
  const modelContent = contentOf(role, content, losses);
  if (modelContent === undefined) return false;
  const options = providerOptionsOf(providerOptions, "providerOptions", losses);
  made.push({ role, content: modelContent, ...(options && { providerOptions: options }) } as ModelMessage);
  return true;
}

/**
 * Converts model messages to Scrollback messages. They already have that form, so nothing is lost. The messages are copied, their
 * parts are not.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a message.
 */
export function fromModelMessages(messages: readonly ModelMessage[]): Conversion<ChatMessage> {
  checkMessages("fromModelMessages", messages);
  return { messages: messages.map((message): ChatMessage => ({ ...message })), lost: [] };
}

/** Converts the content; undefined if nothing of it remains. */
function contentOf(
  role: ChatMessage["role"],
  content: ChatMessage["content"],
  losses: MessageLosses,
): string | object[] | undefined {
  // A tool message with plain text does not name the call that it answers.
  if (typeof content === "string") return role === "tool" ? undefined : content;
  const parts = losses.converted(content, "content", (part, path) => modelPart(role, part, path, losses));
  if (parts.length === 0 && (content.length > 0 || role === "system")) return undefined;
  if (role !== "system") return parts;
  // In the SDK, a system message is a single text.
  if (parts.length > 1) losses.changed("content");
  return (parts as { text: string }[]).map(({ text }) => text).join("\n");
}

/** Converts a part to one that passes the SDK's schema; undefined if that is not possible. */
function modelPart(
  role: ChatMessage["role"],
  part: Part,
  path: string,
  losses: MessageLosses,
): object | undefined {
  const fields = Object.hasOwn(partFields[role], part.type) ? partFields[role][part.type] : undefined;
  if (!fields) return undefined;
  const { type, providerOptions, isError, ...rest } = part as object as Record<string, unknown>;
  const isKnown = ([key]: [string, unknown]) => fields.includes(key);
  // The SDK refuses null in an optional field.
  const given = Object.entries(rest).filter(
    ([key, value]) => value != null || (value === null && key === "input"),
  );
  losses.unread(path, Object.fromEntries(given.filter((entry) => !isKnown(entry))));
  if (part.type !== "tool-result") losses.unread(path, { isError });
  if (role === "system") losses.unread(path, { providerOptions });
  const options =
    role === "system" ? undefined : providerOptionsOf(providerOptions, `${path}.providerOptions`, losses);
  const made: Record<string, unknown> = {
    type,
    ...Object.fromEntries(given.filter(isKnown)),
    ...(part.type === "tool-result" && { output: modelOutput(part, path, losses) }),
    ...(options && { providerOptions: options }),
  };
  const fitting = role === "assistant" && part.type === "image" ? fileOf(made) : made;
  return passesSchema(role, fitting) ? fitting : undefined;
}

function modelOutput(
  part: Extract<Part, { type: "tool-result" }>,
  path: string,
  losses: MessageLosses,
): object {
  const { output, keepsError } = toolOutput(part);
  if (!keepsError) losses.dropped(`${path}.isError`);
  if (output.type !== "json" && output.type !== "error-json") return output;
  const { value, isChanged } = plainJson(output.value);
  if (isChanged) losses.changed(`${path}.output`);
  return { ...output, value };
}

function fileOf({ image, mediaType = "image", ...rest }: Record<string, unknown>): object {
  return { ...rest, type: "file", data: image, mediaType };
}

function passesSchema(role: ChatMessage["role"], part: object): boolean {
  const content = role === "system" ? (part as { text?: unknown }).text : [part];
  try {
    return modelMessageSchema.safeParse({ role, content }).success;
  } catch {
    // For a part with a cycle, the schema overflows the stack.
    return false;
  }
}
