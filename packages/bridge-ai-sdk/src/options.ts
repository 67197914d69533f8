import type { Chat, ChatRun, ChatStore } from "@scrollback/chats";
import type {
  IdGenerator,
  InferUIMessageChunk,
  LanguageModel,
  ModelMessage,
  TextStreamPart,
  ToolSet,
  UIMessage,
  UIMessageStreamOptions,
} from "ai";
import type { UIOptions } from "./convert/ui-messages.ts";
import type { ChatStreams } from "./streams/streams.ts";

/** An `Agent` of the AI SDK, such as `ToolLoopAgent`. */
interface StreamingAgent {
  readonly tools: ToolSet;
  stream(options: { prompt: ModelMessage[]; abortSignal?: AbortSignal }): PromiseLike<ModelAnswer>;
}

/** The result of `streamText`, or of an agent's `stream`. */
export interface ModelAnswer {
  readonly stream: ReadableStream<TextStreamPart<ToolSet>>;
}

/**
 * Shortens the model's input, for example a reducer of `@scrollback/reducers`. The calls and approvals that a turn continues are always
 * kept.
 */
interface HistoryReducer {
  reduce(messages: ModelMessage[], options: { signal: AbortSignal }): Promise<ModelMessage[]>;
}

/** The answer to make. */
export interface Turn<UI extends UIMessage> {
  readonly owner: string;
  /** The chat when the run began. */
  readonly chat: Chat;
  readonly run: ChatRun<UI>;
  /** The stored history, in the form that the SDK accepts. */
  readonly messages: UI[];
  /** The same history as model messages. */
  readonly modelMessages: ModelMessage[];
  /** Aborted by stop, takeover and deletion, not by a client that disconnects. */
  readonly signal: AbortSignal;
  /** The body of the request, without its messages. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a title is made of: a turn, or a chat whose title is made again, which has no run. */
export type TitleTurn<UI extends UIMessage> = Omit<Turn<UI>, "run">;

/** Generates titles: with a model, or with a function that returns a title or undefined. */
export type TitleOption<UI extends UIMessage> =
  | { readonly model: LanguageModel; readonly prompt?: string }
  | ((turn: TitleTurn<UI>) => Promise<string | undefined>);

/** The options that a user's message is checked with. */
export interface MessageOptions extends UIOptions, Pick<BeginTurnOptions, "fileTypes"> {}

/** The options for the run of a request. */
export interface BeginTurnOptions {
  /**
   * The effect of a request while an answer is being made: it fails with `CONFLICT` (`"reject"`, the default), or stops that
   * answer.
   */
  readonly whileRunning?: "reject" | "stop";
  /**
   * Whether an edit or a regeneration keeps what it replaces, as a sibling: see {@link OwnedChats.siblings}. What does not fit in one
   * commit is refused with `TOO_LARGE`. Default true.
   */
  readonly keepSiblings?: boolean;
  /** The handling of a message whose parent is no longer the last message. Default `"reject"`: `CONFLICT`. */
  readonly onStale?: "reject" | "append";
  /**
   * The types of files that the model takes, such as `"image/png"` and `"video/*"`. Default: PNG, JPEG, GIF, WebP and PDF, which the
   * models of OpenAI, Anthropic and Google take. A new file of another type is refused with `INVALID_ARGUMENT`; an older one becomes a
   * note for the model: it would fail at each turn.
   */
  readonly fileTypes?: readonly string[];
  /** Ids of answers. Default: UUIDs. A request whose answer gets the id of a stored message fails with `CONFLICT`. */
  readonly generateMessageId?: IdGenerator;
  /**
   * The time in milliseconds within which a callback must finish: the title, the schemas of messages, the calls of `streams`. Then the
   * work goes on without it, and `onError` receives the error. Not for the functions that make the answer. Default 10,000.
   */
  readonly callbackMs?: number;
}

/** The options of {@link createChatHandler}: the chats, and one of `model`, `agent` and `generate`. */
export interface ChatHandlerOptions<UI extends UIMessage> extends UIOptions, BeginTurnOptions {
  readonly chats: ChatStore<UI>;
  /** Called by `streamText` with `tools`, for at most 20 steps. */
  readonly model?: LanguageModel;
  /** Its tools are the default of `tools`. */
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
  /**
   * Running answers for late listeners. Default: in memory, and in the stores for listeners of other processes, which start within a
   * second; nothing of an answer stays there 2 seconds after its end, and a minute after its process died. {@link inProcessStreams}: in
   * memory alone. The handler does not close streams that are passed in.
   */
  readonly streams?: ChatStreams;
  /**
   * Titles a chat during its first answer, unless the user has titled it, and on `POST /api/chats/:id/title`. Until then, and by
   * default, the title is the user's first text. With `false`, chats get no title.
   */
  readonly title?: TitleOption<UI> | false;
  /** For `toUIMessageStream`. */
  readonly stream?: Pick<
    UIMessageStreamOptions<UI>,
    "sendReasoning" | "sendSources" | "messageMetadata" | "onError" | "redactToolErrors"
  >;
  /** The maximum size of a request in bytes. Default 1 MiB. */
  readonly maxMessageBytes?: number;
  /**
   * Serves `POST /api/chats/import`. Default false: the model receives imported messages as if this server had stored them,
   * including answers and tool results that the client has written. Tool calls that wait for an approval are imported as denied.
   */
  readonly allowImport?: boolean;
  /**
   * Called with errors whose details no client receives: of a model, the store, a title, another callback. It is not awaited; what it
   * throws becomes a warning of the process. Default: a warning of the process, each message at most once a minute.
   */
  onError?(error: unknown, turn: { chatId: string; runId?: string }): void;
}
