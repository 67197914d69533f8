import { StoreError } from "./errors.ts";

/** Who a message is from. */
export type Role = "system" | "user" | "assistant" | "tool";

/** Bytes (or text that a provider understands: base64, a URL), as the AI SDK takes them. */
export type FileContent =
  | string
  | Uint8Array
  | ArrayBuffer
  | URL
  | Record<string, string>
  | { type: "data"; data: string | Uint8Array | ArrayBuffer }
  | { type: "url"; url: URL }
  | { type: "reference"; reference: Record<string, string> }
  | { type: "text"; text: string };

/** Settings for a model provider, by the provider's name. Passed through untouched. */
export type ProviderOptions = Record<string, Record<string, unknown>>;

interface PartBase<Type extends string> {
  type: Type;
  providerOptions?: ProviderOptions | undefined;
}

/** Text. */
export interface TextPart extends PartBase<"text"> {
  text: string;
}
/** What a model said to itself. */
export interface ReasoningPart extends PartBase<"reasoning"> {
  text: string;
}
/** A file: bytes, text or where it lies. */
export interface FilePart extends PartBase<"file"> {
  data: FileContent;
  mediaType: string;
  filename?: string | undefined;
}
/** An image, as older versions of the AI SDK wrote it; newer ones use {@link FilePart}. */
export interface ImagePart extends PartBase<"image"> {
  image: FileContent;
  mediaType?: string | undefined;
}
/** A file that came out of a model's reasoning. */
export interface ReasoningFilePart extends PartBase<"reasoning-file"> {
  data: FileContent;
  mediaType: string;
}
/** A provider's own kind of content. */
export interface CustomPart extends PartBase<"custom"> {
  kind: string;
}
/** A model asks for a tool. Answered by the {@link ToolResultPart} of the same `toolCallId`. */
export interface ToolCallPart extends PartBase<"tool-call"> {
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerExecuted?: boolean | undefined;
}
/** What a tool gave back. */
export interface ToolResultPart extends PartBase<"tool-result"> {
  toolCallId: string;
  toolName: string;
  output: unknown;
  isError?: boolean | undefined;
}
/** A tool call that waits for a person's approval. */
export interface ToolApprovalRequestPart {
  type: "tool-approval-request";
  approvalId: string;
  toolCallId: string;
}
/** A person's answer to a {@link ToolApprovalRequestPart}. */
export interface ToolApprovalResponsePart {
  type: "tool-approval-response";
  approvalId: string;
  approved: boolean;
  reason?: string | undefined;
}

/**
 * The parts a message's content is made of, by their `type`. Parts of other types are stored and returned untouched;
 * to have them typed, add them here by declaration merging.
 *
 * @example
 * declare module "@scrollback/store-core" {
 *   interface PartTypes { chart: { type: "chart"; points: number[] } }
 * }
 */
export interface PartTypes {
  text: TextPart;
  reasoning: ReasoningPart;
  file: FilePart;
  image: ImagePart;
  "reasoning-file": ReasoningFilePart;
  custom: CustomPart;
  "tool-call": ToolCallPart;
  "tool-result": ToolResultPart;
  "tool-approval-request": ToolApprovalRequestPart;
  "tool-approval-response": ToolApprovalResponsePart;
}

/** One piece of a message's content. */
export type Part = PartTypes[keyof PartTypes];

/**
 * The default message type. The AI SDK's `ModelMessage` is assignable to it. Other fields that a message has are
 * stored and returned too; see {@link MessageTraits} for messages of another shape.
 */
export interface ChatMessage {
  id?: string | undefined;
  role: Role;
  content: string | Part[];
  /** Who speaks, where several share a role. */
  authorName?: string | undefined;
  createdAt?: Date | undefined;
  /** Anything the application wants to keep with the message. */
  metadata?: unknown;
  providerOptions?: ProviderOptions | undefined;
}

/**
 * The few questions that the library asks of a message, so that messages of any shape can be stored.
 * Implementations are pure and never throw for a message that `check` accepts.
 */
export interface MessageTraits<M> {
  /** Who the message is from. */
  role(message: M): Role;
  /** The ids of the tool calls that the message makes, in order; empty where there are none. */
  toolCalls(message: M): readonly string[];
  /** The ids of the tool calls whose results the message bears, in order; empty where there are none. */
  toolResults(message: M): readonly string[];
  /** What is wrong with a value that should be a message (a sentence that begins with the field's name), or nothing. */
  check?(message: unknown): string | undefined;
}

const roles: readonly unknown[] = ["system", "user", "assistant", "tool"] satisfies Role[];
const requiredStrings: Record<string, readonly string[]> = {
  text: ["text"],
  reasoning: ["text"],
  "tool-call": ["toolCallId", "toolName"],
  "tool-result": ["toolCallId", "toolName"],
};

function checkPart(part: unknown, index: number): string | undefined {
  if (typeof part !== "object" || part === null) return `content[${index}] must be an object with a type`;
  const fields = part as Record<string, unknown>;
  if (typeof fields.type !== "string") return `content[${index}].type must be a string`;
  const required = Object.hasOwn(requiredStrings, fields.type) ? requiredStrings[fields.type] : undefined;
  const missing = required?.find((field) => typeof fields[field] !== "string");
  return missing && `content[${index}].${missing} must be a string (a part of type "${fields.type}")`;
}

function idsOfParts(message: ChatMessage, type: "tool-call" | "tool-result"): string[] {
  const ids: string[] = [];
  if (typeof message.content === "string") return ids;
  for (const part of message.content) if (part.type === type) ids.push(part.toolCallId);
  return ids;
}

/** The traits of {@link ChatMessage}, used where no others are given. */
export const chatMessageTraits: MessageTraits<ChatMessage> = Object.freeze({
  role: (message: ChatMessage) => message.role,
  toolCalls: (message: ChatMessage) => idsOfParts(message, "tool-call"),
  toolResults: (message: ChatMessage) => idsOfParts(message, "tool-result"),
  check(message: unknown): string | undefined {
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      return "must be an object with a role and content";
    }
    const { role, content } = message as Record<string, unknown>;
    if (!roles.includes(role)) return `role must be "system", "user", "assistant" or "tool"`;
    if (typeof content === "string") return undefined;
    if (!Array.isArray(content)) return "content must be a string or an array of parts";
    for (let index = 0; index < content.length; index++) {
      const problem = checkPart(content[index], index);
      if (problem) return problem;
    }
    return undefined;
  },
});

/**
 * What trimming needs to know of a message, one letter: `s` system, `u` a user's message that bears no tool result,
 * `t` a message that bears a tool result (role tool included), `o` any other.
 */
export type MessageKind = "s" | "u" | "t" | "o";

/** The kind of a message. @throws StoreError `INVALID_ARGUMENT` when the traits answer with an unknown role. */
export function kindOf<M>(message: M, traits: MessageTraits<M>): MessageKind {
  const role = traits.role(message);
  if (!roles.includes(role)) {
    throw new StoreError("INVALID_ARGUMENT", "traits.role must return system, user, assistant or tool");
  }
  if (role === "system") return "s";
  if (role === "tool" || traits.toolResults(message).length > 0) return "t";
  return role === "user" ? "u" : "o";
}
