import type { MessageKind } from "../codec/record-location.ts";
import { StoreError } from "../errors.ts";
import { foreignMessage, foreignPart } from "./foreign-messages.ts";

/** The author of a message. */
export type Role = "system" | "user" | "assistant" | "tool";

/** Bytes (or text that a provider understands: base64, a URL), as the AI SDK accepts them. */
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

/** Settings for a model provider, by the provider's name. Stored and returned unchanged. */
export type ProviderOptions = Record<string, Record<string, unknown>>;

interface PartBase<Type extends string> {
  type: Type;
  providerOptions?: ProviderOptions | undefined;
}

/** Text. */
export interface TextPart extends PartBase<"text"> {
  text: string;
}
/** The reasoning of a model. */
export interface ReasoningPart extends PartBase<"reasoning"> {
  text: string;
}
/** A file: its bytes, its text, or a reference to it. */
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
/** A model's call of a tool. The {@link ToolResultPart} of the same `toolCallId` has the result. */
export interface ToolCallPart extends PartBase<"tool-call"> {
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerExecuted?: boolean | undefined;
}
/** The result of a tool call. */
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
 * The parts of a message's content, by their `type`. Parts of other types are stored and returned unchanged, but for
 * tool calls and results of other SDKs, which are refused. Declaration merging adds their types here.
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
 * The default message type. The AI SDK's `ModelMessage` is assignable to it. Other fields of a message are stored and
 * returned too. See {@link MessageTraits} for other message types.
 */
export interface ChatMessage {
  id?: string | undefined;
  role: Role;
  content: string | Part[];
  /** The author's name, if several authors share a role. */
  authorName?: string | undefined;
  createdAt?: Date | undefined;
  /** Any value that the application stores with the message. */
  metadata?: unknown;
  providerOptions?: ProviderOptions | undefined;
}

/**
 * The properties of a message that the library needs, so that messages of any shape can be stored: objects, not arrays. Implementations are
 * pure and never throw for a message that `check` accepts.
 */
export interface MessageTraits<M> {
  /** Returns the role of the message's author. */
  role(message: M): Role;
  /** Returns the ids of the message's tool calls, in order; an empty array if there are none. */
  toolCalls(message: M): readonly string[];
  /** Returns the ids of the tool calls whose results the message contains, in order; an empty array if there are none. */
  toolResults(message: M): readonly string[];
  /**
   * Returns whether the message is reasoning alone, which a model's API accepts only together with the message after it.
   * Trimming does not separate the two. Default: false for every message.
   */
  isReasoning?(message: M): boolean;
  /**
   * Returns whether the message stands for the messages before it, as a compaction item does. Trimming keeps the newest one,
   * unless it has a tool call or a tool result. Default: false for every message.
   */
  isCompaction?(message: M): boolean;
  /**
   * Returns the problem with a value that is not a valid message, as a sentence that begins with the field's name;
   * undefined for a valid message.
   */
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
  if (!required) {
    const foreign = foreignPart(fields);
    return foreign && `content[${index}] ${foreign}`;
  }
  const missing = required.find((field) => typeof fields[field] !== "string");
  return missing && `content[${index}].${missing} must be a string (a part of type "${fields.type}")`;
}

const NO_IDS: readonly string[] = Object.freeze([]);

function idsOfParts(parts: readonly Part[], type: "tool-call" | "tool-result"): string[] {
  const ids: string[] = [];
  for (const part of parts) if (part.type === type) ids.push(part.toolCallId);
  return ids;
}

/** The `metadata` of a message that summarises the messages before it. It must not change: stored histories hold it. */
export const SUMMARY_MARK = Object.freeze({ type: "scrollback.summary" });

const isSummary = ({ content, metadata }: ChatMessage) =>
  typeof content === "string" &&
  typeof metadata === "object" &&
  metadata !== null &&
  "type" in metadata &&
  metadata.type === SUMMARY_MARK.type;

/**
 * Whether a part stands for the messages before it, as the AI SDK's providers return it: OpenAI's is a custom part, Anthropic's a
 * text with a mark for the provider. `marks` are the part's values for providers, by the provider's name.
 */
export function isCompactionPart(part: object, marks: unknown): boolean {
  const { type, kind } = part as { type?: unknown; kind?: unknown };
  if (type === "custom") return typeof kind === "string" && kind.endsWith(".compaction");
  if (type !== "text" || typeof marks !== "object" || marks === null) return false;
  return Object.values(marks).some(
    (mark: unknown) => (Object(mark) as { type?: unknown }).type === "compaction",
  );
}

/**
 * The traits of {@link ChatMessage}; the default. `check` refuses tool calls and results in the formats of other SDKs: trimming would
 * not see them.
 */
export const chatMessageTraits: Required<MessageTraits<ChatMessage>> = Object.freeze({
  role: (message: ChatMessage) => message.role,
  toolCalls: ({ content }: ChatMessage) =>
    typeof content === "string" ? NO_IDS : idsOfParts(content, "tool-call"),
  toolResults: ({ content }: ChatMessage) =>
    typeof content === "string" ? NO_IDS : idsOfParts(content, "tool-result"),
  isReasoning: ({ role, content }: ChatMessage) =>
    role === "assistant" &&
    typeof content !== "string" &&
    content.length > 0 &&
    content.every(({ type }) => type === "reasoning" || type === "reasoning-file"),
  isCompaction(message: ChatMessage): boolean {
    const { role, content } = message;
    if (role !== "assistant") return false;
    if (typeof content === "string") return isSummary(message);
    return content.some((part) => isCompactionPart(part, "providerOptions" in part && part.providerOptions));
  },
  check(message: unknown): string | undefined {
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      return "must be an object with a role and content";
    }
    const fields = message as Record<string, unknown>;
    const { role, content } = fields;
    const foreign = foreignMessage(fields);
    if (foreign) return foreign;
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

/** Returns the kind of a message. @throws StoreError `INVALID_ARGUMENT` if the traits return an unknown role. */
export function kindOf<M>(message: M, traits: MessageTraits<M>): MessageKind {
  const role = traits.role(message);
  if (!roles.includes(role)) {
    throw new StoreError("INVALID_ARGUMENT", "traits.role must return system, user, assistant or tool");
  }
  const makesCall = traits.toolCalls(message).length > 0;
  const bearsResult = role === "tool" || traits.toolResults(message).length > 0;
  if (!makesCall && !bearsResult && traits.isCompaction?.(message)) return "k";
  if (role === "system") return "s";
  if (bearsResult) return makesCall ? "b" : "t";
  if (role === "user") return "u";
  return makesCall || traits.isReasoning?.(message) ? "c" : "o";
}
