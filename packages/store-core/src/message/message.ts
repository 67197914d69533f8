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
type ProviderOptions = Record<string, Record<string, unknown>>;

interface PartBase<Type extends string> {
  type: Type;
  providerOptions?: ProviderOptions | undefined;
}

/** Text. */
export interface TextPart extends PartBase<"text"> {
  text: string;
}
/** The reasoning of a model. */
interface ReasoningPart extends PartBase<"reasoning"> {
  text: string;
}
/** A file: its bytes, its text, or a reference to it. */
export interface FilePart extends PartBase<"file"> {
  data: FileContent;
  mediaType: string;
  filename?: string | undefined;
}
/** An image, as older versions of the AI SDK wrote it; newer ones use {@link FilePart}. */
interface ImagePart extends PartBase<"image"> {
  image: FileContent;
  mediaType?: string | undefined;
}
/** A file that came out of a model's reasoning. */
interface ReasoningFilePart extends PartBase<"reasoning-file"> {
  data: FileContent;
  mediaType: string;
}
/** A provider's own kind of content. */
interface CustomPart extends PartBase<"custom"> {
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
interface ToolResultPart extends PartBase<"tool-result"> {
  toolCallId: string;
  toolName: string;
  output: unknown;
  isError?: boolean | undefined;
}
/** A tool call that waits for a person's approval. */
interface ToolApprovalRequestPart {
  type: "tool-approval-request";
  approvalId: string;
  toolCallId: string;
}
/** A person's answer to a {@link ToolApprovalRequestPart}. */
interface ToolApprovalResponsePart {
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
