import type { ChatMessage, Part } from "@scrollback/store-core";
import type { AssistantModelMessage, ModelMessage, ToolModelMessage, ToolResultPart } from "ai";

/** What a run adds to a conversation: assistant and tool messages, as the AI SDK makes them. */
export type ResponseMessage = AssistantModelMessage | ToolModelMessage;

type ModelParts = Exclude<ModelMessage["content"], string>;
type ModelPart = ModelParts[number];

type PartTypeOf<Role> = Exclude<Extract<ModelMessage, { role: Role }>["content"], string>[number]["type"];

/** The parts that the AI SDK takes, by role: all of them, or this does not compile. */
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

/**
 * Messages as the AI SDK takes them. What a `ModelMessage` has stays as it is; the fields that only a `ChatMessage` has
 * (id, authorName, createdAt, metadata) and parts that no model takes are left out, and so is a message of nothing else.
 */
export function toModelMessages(messages: readonly ChatMessage[]): ModelMessage[] {
  return messages.flatMap((message) => toModelMessage(message) ?? []);
}

function toModelMessage({ role, content, providerOptions }: ChatMessage): ModelMessage | undefined {
  const options = providerOptions && { providerOptions };
  if (role === "system") return { role, content: textOf(content), ...options } as ModelMessage;
  if (typeof content === "string") {
    // The text of a tool's message answers no call that could be named.
    return role === "tool" ? undefined : ({ role, content, ...options } as ModelMessage);
  }
  const parts = content.filter((part) => Object.hasOwn(knownParts[role], part.type)).map(toModelPart);
  if (parts.length === 0 && content.length > 0) return undefined;
  return { role, content: parts, ...options } as ModelMessage;
}

/** A tool's result in the AI SDK's form, which what the SDK itself wrote already has; any other value is put into it. */
function toModelPart(part: Part): ModelPart {
  if (part.type !== "tool-result") return part as ModelPart;
  const { isError, output, ...rest } = part;
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

/** The text of a message, its parts joined by newlines. */
export function textOf(content: ChatMessage["content"]): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/**
 * The response's messages to be stored: as they are, but for fields that the AI SDK sets to undefined, which say the
 * same when they are absent and would keep the record from being plain JSON.
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
