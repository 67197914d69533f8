import type { Chat, ChatRun, ChatStore } from "@scrollback/chats";
import type {
  FlexibleSchema,
  IdGenerator,
  InferUIMessageChunk,
  LanguageModel,
  ModelMessage,
  TextStreamPart,
  ToolSet,
  UIMessage,
  UIMessageStreamOptions,
} from "ai";
import type { ChatStreams } from "./streams.ts";

/** What the messages of a chat are checked by. */
export interface UIOptions {
  /** The tools of the model. Without `execute`, a tool is the client's: its outputs come with a request. */
  readonly tools?: ToolSet;
  readonly metadataSchema?: FlexibleSchema;
  /** By the name of the data part, without `data-`. */
  readonly dataSchemas?: Readonly<Record<string, FlexibleSchema>>;
}

/** An `Agent` of the AI SDK, such as `ToolLoopAgent`. */
export interface StreamingAgent {
  readonly tools: ToolSet;
  stream(options: { prompt: ModelMessage[]; abortSignal?: AbortSignal }): PromiseLike<ModelAnswer>;
}

/** The result of `streamText`, or of an agent's `stream`. */
export interface ModelAnswer {
  readonly stream: ReadableStream<TextStreamPart<ToolSet>>;
}

/** Shortens what a model gets. A reducer of `@scrollback/reducers` fits. */
export interface HistoryReducer {
  reduce(messages: ModelMessage[], options: { signal: AbortSignal }): Promise<ModelMessage[]>;
}

/** One answer that is to be made. */
export interface Turn<UI extends UIMessage> {
  readonly owner: string;
  /** The chat as the run began. */
  readonly chat: Chat;
  readonly run: ChatRun<UI>;
  /** The stored history, as the SDK takes it. */
  readonly messages: UI[];
  /** The same for the model. */
  readonly modelMessages: ModelMessage[];
  /** Aborted by stop, takeover and deletion; not by a client that goes away. */
  readonly signal: AbortSignal;
  /** The body of the request, without its messages. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Makes titles: with a model, or by a function that returns one, or nothing. */
export type TitleOption<UI extends UIMessage> =
  | { readonly model: LanguageModel; readonly prompt?: string }
  | ((turn: Turn<UI>) => Promise<string | undefined>);

/** How a request begins a run. */
export interface BeginTurnOptions {
  /** What a request does while an answer is being made: it fails with `CONFLICT` (`"reject"`, the default), or stops that answer. */
  readonly whileRunning?: "reject" | "stop";
  /** What becomes of a message that was written behind one that is not the last any more. Default `"reject"`: `CONFLICT`. */
  readonly onStale?: "reject" | "append";
  /** Ids of answers. Default: UUIDs. */
  readonly generateMessageId?: IdGenerator;
}

/** What {@link createChatHandler} takes: the chats, and one of `model`, `agent` and `generate`. */
export interface ChatHandlerOptions<UI extends UIMessage> extends UIOptions, BeginTurnOptions {
  readonly chats: ChatStore<UI>;
  /** Called by `streamText` with `tools`, for at most 20 steps. */
  readonly model?: LanguageModel;
  /** Its tools count as `tools` where these are not given. */
  readonly agent?: StreamingAgent;
  /** Makes the answer of a turn: the result of `streamText`, or a UI message stream. */
  generate?(
    turn: Turn<UI>,
  ):
    | ModelAnswer
    | ReadableStream<InferUIMessageChunk<UI>>
    | Promise<ModelAnswer | ReadableStream<InferUIMessageChunk<UI>>>;
  /** For `model`. */
  readonly instructions?: string;
  readonly reducer?: HistoryReducer;
  /** Running answers for late listeners. Default: {@link inProcessStreams}. Given ones are not closed. */
  readonly streams?: ChatStreams;
  /** Titles a chat beside its first answer, unless the user did. Until then, and without it, the title is the first text, also of a chat that was made without a title; with `false` there is none. */
  readonly title?: TitleOption<UI> | false;
  /** For `toUIMessageStream`. */
  readonly stream?: Pick<
    UIMessageStreamOptions<UI>,
    "sendReasoning" | "sendSources" | "messageMetadata" | "onError" | "redactToolErrors"
  >;
  /** Bytes of a request. Default 1 MiB. */
  readonly maxMessageBytes?: number;
  /**
   * Serves `POST /api/chats/import`. Default false: what a client imports goes to the model as if this server had stored it, also
   * answers and results of tools that the client has written. Tool calls that wait for an approval are imported as denied.
   */
  readonly allowImport?: boolean;
  /** Called with what failed while no caller was waiting for it: a model, a save, a title. */
  onError?(error: unknown, turn: { chatId: string; runId?: string }): void;
}
