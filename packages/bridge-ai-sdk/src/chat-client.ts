import type {
  Chat,
  ChatEntry,
  ChatExport,
  ChatPatch,
  ChatSummary,
  ListChats,
  OwnedChats,
  SiblingGroup,
} from "@scrollback/chats";
import { APICallError, type UIMessage } from "ai";

const HANDLER_BASE = "/api";

/** The options of {@link chatClient}; the names are those of the transport. */
interface ChatClientOptions {
  /** The path or URL of the handler's routes. Default `/api`. */
  readonly api?: string;
  /** Sent with each request, for example an authorization. A function is called for each request. */
  readonly headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>);
  /** Of `fetch`: `"include"` also sends cookies to another origin. */
  readonly credentials?: RequestInit["credentials"];
  /** Default: the global one. */
  fetch?(url: string, init: RequestInit): Promise<Response>;
}

type RequestHeaders = Readonly<Record<string, string>>;
type PlacedOptions = Omit<NonNullable<Parameters<OwnedChats["switchTo"]>[2]>, "signal">;
type WriteOptions = Pick<
  NonNullable<Parameters<OwnedChats["update"]>[2]>,
  "operationId" | "expectedRevision"
>;

/** A page of a chat, oldest message first. */
export interface LoadedChat<UI extends UIMessage> {
  readonly chat: Chat;
  readonly messages: UI[];
  /** By the id of the message. */
  readonly statuses: Readonly<Record<string, Omit<ChatEntry<UI>, "message">>>;
  /** For `before` of the next call; absent at the beginning of the chat. */
  readonly older?: string;
}

/** The error of a request that did not succeed. */
export class ChatClientError extends Error {
  /** The code of a `StoreError`, or of your server; `"UNREACHABLE"` without a response, `"UNKNOWN"` for a response in another format. */
  readonly code: string;
  /** The HTTP status; 0 without a response. */
  readonly status: number;

  constructor(status: number, body: string | undefined, cause?: unknown) {
    const { error, message } = fieldsOf(body);
    super(typeof message === "string" ? message : `The server responded with status ${status}.`, { cause });
    this.name = "ChatClientError";
    this.status = status;
    this.code = typeof error === "string" ? error : status === 0 ? "UNREACHABLE" : "UNKNOWN";
  }

  /** Whether the page shows an older state of the chat, or an answer is being made: load the chat again, then send again. */
  get isStale(): boolean {
    return this.status === 409;
  }

  /**
   * The error of a request of `useChat` as one of this class. Undefined for other errors: the model failed, and the stored answer
   * tells so; or a bug.
   */
  static from(error: unknown): ChatClientError | undefined {
    if (error instanceof ChatClientError) return error;
    if (APICallError.isInstance(error))
      return new ChatClientError(error.statusCode ?? 0, error.responseBody, error);
    // What `fetch` throws without a response.
    return error instanceof TypeError ? unreachable(error) : undefined;
  }
}

function unreachable(cause: unknown): ChatClientError {
  return new ChatClientError(0, JSON.stringify({ message: "The server cannot be reached." }), cause);
}

function fieldsOf(body: string | undefined): { error?: unknown; message?: unknown } {
  try {
    return Object(JSON.parse(body ?? ""));
  } catch {
    // A proxy in between responds in another format.
    return {};
  }
}

/** One function for each route of a chat handler. Each rejects with {@link ChatClientError}. */
export interface ChatClient<UI extends UIMessage> {
  list(options?: ListChats): Promise<{ chats: ChatSummary[]; cursor?: string }>;
  /** The newest `limit` messages, by default 100; with `before`, those before that cursor. */
  get(
    chatId: string,
    options?: { limit?: number; before?: string; signal?: AbortSignal },
  ): Promise<LoadedChat<UI>>;
  /** Renames, pins, archives, labels: see {@link ChatPatch}. */
  update(chatId: string, patch: ChatPatch & WriteOptions): Promise<Chat>;
  delete(chatId: string): Promise<void>;
  /** Returns after the answer so far is saved, whether there was one to stop. */
  stop(chatId: string, runId?: string): Promise<boolean>;
  /** A new chat of the messages up to `at`. */
  fork(
    chatId: string,
    options?: Omit<NonNullable<Parameters<OwnedChats["fork"]>[1]>, "signal">,
  ): Promise<Chat>;
  /** Drops the end of a chat. */
  truncate(
    chatId: string,
    cut: Parameters<OwnedChats["truncate"]>[1],
    options?: Omit<NonNullable<Parameters<OwnedChats["truncate"]>[2]>, "signal">,
  ): Promise<Chat>;
  /** The messages that have one place in a chat; `chat.siblings` of {@link ChatClient.get} has all of a chat. */
  siblings(chatId: string, messageId: string): Promise<SiblingGroup>;
  /** Shows a sibling and what followed it. Load the messages again afterwards. */
  switchTo(chatId: string, messageId: string, options?: PlacedOptions): Promise<Chat>;
  /** Deletes a sibling that is not shown, and what followed it. */
  deleteSibling(chatId: string, messageId: string, options?: PlacedOptions): Promise<Chat>;
  message(chatId: string, messageId: string): Promise<ChatEntry<UI>>;
  /** Deletes one message; `with: "answer"`: with its answer. */
  deleteMessage(
    chatId: string,
    messageId: string,
    options?: WriteOptions & { readonly with?: "answer"; readonly after?: string },
  ): Promise<Chat>;
  /** Replaces the metadata of a message; `null` removes it. */
  updateMessage(
    chatId: string,
    messageId: string,
    patch: WriteOptions & { metadata: unknown },
  ): Promise<Chat>;
  /** Makes the title again; with `replaceUser` also one that the user has given. */
  title(chatId: string, options?: { readonly replaceUser?: boolean }): Promise<Chat>;
  export(chatId: string): Promise<ChatExport>;
  /** The URL of the export, for a link that downloads it. */
  exportUrl(chatId: string): string;
  import(data: ChatExport, options?: { readonly id?: string; readonly operationId?: string }): Promise<Chat>;
}

/**
 * The routes of a chat handler as functions. The messages and their answers themselves go through `useChat`.
 *
 * @example
 * const client = chatClient<UIMessage>();
 * const { messages } = await client.get("rome");
 */
export function chatClient<UI extends UIMessage>({
  api = HANDLER_BASE,
  headers,
  credentials,
  fetch: given,
}: ChatClientOptions = {}): ChatClient<UI> {
  const call = async <T>(
    method: string,
    url: string,
    { body, signal }: { body?: unknown; signal?: AbortSignal | undefined } = {},
  ): Promise<T> => {
    const own = typeof headers === "function" ? await headers() : headers;
    const init: RequestInit = {
      method,
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...own },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(credentials !== undefined && { credentials }),
      ...(signal && { signal }),
    };
    let response: Response;
    let text: string;
    try {
      response = await (given ?? fetch)(url, init);
      text = await response.text();
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachable(error);
    }
    if (!response.ok) throw new ChatClientError(response.status, text);
    try {
      return text === "" ? (undefined as T) : JSON.parse(text);
    } catch (error) {
      throw new ChatClientError(response.status, text, error);
    }
  };
  const chatUrl = (chatId: string, ...rest: string[]) =>
    [api, "chats", ...[chatId, ...rest].map(encodeURIComponent)].join("/");
  /** The handler knows its routes as `/api`. */
  const placed = (message: UI): UI => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === "file" && part.url.startsWith(`${HANDLER_BASE}/chats/`)
        ? { ...part, url: api + part.url.slice(HANDLER_BASE.length) }
        : part,
    ),
  });

  return {
    list: ({ signal, ...query } = {}) => call("GET", `${api}/chats${queryOf(query)}`, { signal }),
    async get(chatId, { signal, ...query } = {}) {
      const loaded = await call<LoadedChat<UI>>("GET", chatUrl(chatId) + queryOf(query), { signal });
      return { ...loaded, messages: loaded.messages.map(placed) };
    },
    update: (chatId, patch) => call("PATCH", chatUrl(chatId), { body: patch }),
    delete: (chatId) => call("DELETE", chatUrl(chatId)),
    async stop(chatId, runId) {
      const url = `${api}/chat/${encodeURIComponent(chatId)}/stop`;
      return (await call<{ stopped: boolean }>("POST", url, { body: { runId } })).stopped;
    },
    fork: (chatId, options = {}) => call("POST", chatUrl(chatId, "fork"), { body: options }),
    truncate: (chatId, cut, options) =>
      call("POST", chatUrl(chatId, "truncate"), { body: { ...options, ...cut } }),
    siblings: (chatId, messageId) => call("GET", chatUrl(chatId, "siblings", messageId)),
    switchTo: (chatId, messageId, options = {}) =>
      call("POST", chatUrl(chatId, "switch"), { body: { ...options, messageId } }),
    deleteSibling: (chatId, messageId, options = {}) =>
      call("DELETE", chatUrl(chatId, "siblings", messageId) + queryOf(options)),
    async message(chatId, messageId) {
      const entry = await call<ChatEntry<UI>>("GET", chatUrl(chatId, "messages", messageId));
      return { ...entry, message: placed(entry.message) };
    },
    deleteMessage: (chatId, messageId, options = {}) =>
      call("DELETE", chatUrl(chatId, "messages", messageId) + queryOf(options)),
    updateMessage: (chatId, messageId, patch) =>
      call("PATCH", chatUrl(chatId, "messages", messageId), { body: patch }),
    title: (chatId, options = {}) => call("POST", chatUrl(chatId, "title"), { body: options }),
    export: (chatId) => call("GET", chatUrl(chatId, "export")),
    exportUrl: (chatId) => chatUrl(chatId, "export"),
    import: (data, options = {}) => call("POST", `${api}/chats/import${queryOf(options)}`, { body: data }),
  };
}

function queryOf(options: object): string {
  const given = Object.entries(options).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, typeof value === "object" ? JSON.stringify(value) : String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
