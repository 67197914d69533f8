import type { ChatMessage, Part } from "@scrollback/store-core";
import type { AssistantModelMessage, ModelMessage, ToolModelMessage, ToolResultPart } from "ai";

/** A message that a run adds to a conversation: an assistant or tool message as the AI SDK creates it. */
export type ResponseMessage = AssistantModelMessage | ToolModelMessage;

type ModelParts = Exclude<ModelMessage["content"], string>;
type ModelPart = ModelParts[number];

type PartTypeOf<Role> = Exclude<Extract<ModelMessage, { role: Role }>["content"], string>[number]["type"];

/** The parts that the AI SDK accepts, by role. A missing part does not compile. */
const knownParts: { readonly [Role in ChatMessage["role"]]: Readonly<Record<PartTypeOf<Role>, true>> } = {
  system: {},
  user: { text: true, image: true, file: true },
  assistant: {
    text: true,
    file: true,
    reasoning: true,
    "reasoning-file": true,
    custom: true,
    "tool-call": true,
    "tool-result": true,
    "tool-approval-request": true,
  },
  tool: { "tool-result": true, "tool-approval-response": true },
};
type OutputType = ToolResultPart["output"]["type"];
const outputTypes: Readonly<Record<OutputType, true>> = {
  text: true,
  json: true,
  content: true,
  "error-text": true,
  "error-json": true,
  "execution-denied": true,
};

/** The fields of parts whose value may be null. */
const valueFields: ReadonlySet<string> = new Set(["input", "output", "inputSchemaInput"]);

/**
 * Converts messages for the AI SDK. Fields of `ModelMessage` stay unchanged. Drops the fields that only a `ChatMessage` has
 * (id, authorName, createdAt, metadata), parts that no model accepts, and messages without other content.
 */
export function toModelMessages(messages: readonly ChatMessage[]): ModelMessage[] {
  return messages.flatMap((message) => toModelMessage(message) ?? []);
}

function toModelMessage({ role, content, providerOptions }: ChatMessage): ModelMessage | undefined {
  const options = providerOptions && { providerOptions };
  if (role === "system") return { role, content: textOf(content), ...options } as ModelMessage;
  if (typeof content === "string") {
    // A tool message with plain text names no call that it answers.
    return role === "tool" ? undefined : ({ role, content, ...options } as ModelMessage);
  }
  const parts = content.filter((part) => Object.hasOwn(knownParts[role], part.type)).map(toModelPart);
  if (parts.length === 0 && content.length > 0) return undefined;
  return { role, content: parts, ...options } as ModelMessage;
}

/**
 * A part in the AI SDK's form, without null in optional fields, which it refuses. A tool's output that is not in its form yet is
 * wrapped.
 */
function toModelPart(part: Part): ModelPart {
  const present = Object.entries(part).filter(([name, value]) => value !== null || valueFields.has(name));
  const made = Object.fromEntries(present) as unknown as Part;
  if (made.type !== "tool-result") return made as ModelPart;
  const { isError, output, ...rest } = made;
  return {
    ...rest,
    output: isModelOutput(output) ? output : wrapOutput(output, isError === true),
  } as ModelPart;
}

function isModelOutput(output: unknown): output is ToolResultPart["output"] {
  const isTyped = typeof output === "object" && output !== null && "type" in output;
  return isTyped && typeof output.type === "string" && Object.hasOwn(outputTypes, output.type);
}

function wrapOutput(output: unknown, isError: boolean): { type: string; value: unknown } {
  if (typeof output === "string") return { type: isError ? "error-text" : "text", value: output };
  return { type: isError ? "error-json" : "json", value: output ?? null };
}

/** The text of a message, its text parts joined by newlines. */
export function textOf(content: ChatMessage["content"]): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/**
 * The response's messages as they are stored: without the fields that the AI SDK sets to undefined. An absent field means
 * the same and keeps the record plain JSON.
 */
export function withoutUndefined(messages: readonly ResponseMessage[]): ResponseMessage[] {
  return messages.map((message) => {
    if (typeof message.content === "string") return message;
    const content = message.content.map((part) =>
      Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)),
    );
    return { ...message, content } as ResponseMessage;
  });
}
