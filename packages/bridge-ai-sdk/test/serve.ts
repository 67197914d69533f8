import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Chat,
  type ChatEntry,
  ChatStore,
  type ChatStoreOptions,
  type ChatSummary,
} from "@scrollback/chats";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import type { UIMessage, UIMessageChunk } from "ai";
import {
  type ChatHandlerOptions,
  type ChatStreams,
  createChatHandler,
  inProcessStreams,
  nodeListener,
  uiMessages,
} from "../src/index.ts";
import { scriptedModel, scriptedTools } from "./scripted-model.ts";

export type ServeOptions = Partial<Omit<ChatHandlerOptions<UIMessage>, "chats" | "streams">> & {
  /** `"stores"`: the default of the handler, with which it ends a second after an answer. Default: in the process. */
  streams?: ChatStreams | "stores";
  stores?: StoreFactory;
  store?: Partial<ChatStoreOptions<UIMessage>>;
};

/** A handler behind a real `node:http` server. The tools and the model are scripted by default. */
export async function serve({ stores: given, store = {}, streams, ...options }: ServeOptions = {}) {
  const own = inProcessStreams();
  const driver = new FailingDriver();
  const stores = given ?? createStores(driver);
  const log = { deleted: [] as string[] };
  const tools = options.tools ?? options.agent?.tools ?? scriptedTools(log);
  const errors: unknown[] = [];
  const chats = new ChatStore<UIMessage>({
    stores,
    ...uiMessages({ tools }),
    beatMs: 50,
    leaseMs: 2_000,
    ...store,
  });
  const isMade = options.agent !== undefined || options.generate !== undefined || options.model !== undefined;
  const handler = createChatHandler<UIMessage>({
    chats,
    ...(!options.agent && { tools }),
    ...(!isMade && { model: scriptedModel() }),
    onError: (error) => void errors.push(error),
    ...(streams !== "stores" && { streams: streams ?? own }),
    ...options,
  });
  const server = createServer(
    nodeListener((request) => handler.fetch(request, { owner: request.headers.get("x-user") ?? "ada" })),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stored = async (chatId: string, owner = "ada") => {
    const page = await chats.of(owner).read(chatId);
    return page?.entries.map(({ message }) => message);
  };
  const get = async (path: string) => (await (await fetch(`${url}/api${path}`)).json()) as Loaded;
  const send = async (method: string, path: string, body?: unknown) =>
    await fetch(`${url}/api${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const answerTo = async (body: unknown) => {
    const response = await send("POST", "/chat", body);
    return { status: response.status, headers: response.headers, ...(await read(response)) };
  };
  const posts: Promise<unknown>[] = [];
  /** Posts a message, and returns the answer's chunks, or the error. */
  const post = (body: unknown) => {
    const answered = answerTo(body);
    posts.push(answered);
    return answered;
  };
  /** The newest message of a chat, as text. */
  const newest = async (chatId: string) => JSON.stringify((await stored(chatId))?.at(-1)) ?? "";
  return {
    ...{ post, stores, newest },
    /** The number of reads of threads whose ids begin so. */
    reads: (prefix: string) => driver.reads.filter((id) => id.startsWith(prefix)).length,
    /** Makes all writes fail until `stop`. */
    failWrites() {
      driver.isFailing = true;
      return {
        stop() {
          driver.isFailing = false;
        },
      };
    },
    ...{ url, chats, mine: chats.of("ada"), handler, log, errors, stored, get, send },
    async [Symbol.asyncDispose]() {
      await handler.close();
      await own.close();
      // A test that fails may wait for an answer no more: it has ended now, and its connection is not cut off.
      await Promise.allSettled(posts);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await chats.flush();
    },
  };
}

/** The results of the routes, for a chat and for a list. */
export interface Loaded {
  readonly chat: Chat;
  readonly messages: UIMessage[];
  readonly statuses: Record<string, Omit<ChatEntry<UIMessage>, "message">>;
  readonly older?: string;
  readonly chats: ChatSummary[];
  readonly cursor?: string;
}

/** Threads in memory; writes can be made to fail. */
class FailingDriver extends MemoryDriver {
  isFailing = false;
  /** The threads that were read. */
  readonly reads: string[] = [];

  override async read(...args: Parameters<MemoryDriver["read"]>) {
    this.reads.push(args[0].threadId);
    return await super.read(...args);
  }

  override async commit(...args: Parameters<MemoryDriver["commit"]>) {
    if (this.isFailing) throw new StoreError("UNAVAILABLE", "no writes");
    return await super.commit(...args);
  }
}

/** The chunks of a stream of server-sent events; `error` if the response is JSON. */
export async function read(response: Response): Promise<{ chunks: UIMessageChunk[]; error?: string }> {
  const text = await response.text();
  if (!response.headers.get("content-type")?.includes("event-stream"))
    return { chunks: [], ...(text !== "" && { error: JSON.parse(text).error }) };
  const data = text.split("\n").flatMap((line) => (line.startsWith("data: {") ? line.slice(6) : []));
  return { chunks: data.map((line) => JSON.parse(line)) };
}

/** The text of an answer's chunks. */
export function textIn(chunks: readonly UIMessageChunk[]): string {
  return chunks.flatMap((chunk) => (chunk.type === "text-delta" ? chunk.delta : [])).join("");
}

/** A user's message. */
export function user(id: string, text = id): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export function answer(id: string, text = id): UIMessage {
  return { id, role: "assistant", parts: [{ type: "step-start" }, { type: "text", text, state: "done" }] };
}

/** Repeats the call until its result is neither undefined nor false. */
export async function until<T>(look: () => T | Promise<T>): Promise<Exclude<T, false | null | undefined>> {
  for (let waits = 0; waits < 1_000; waits++) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false)
      return found as Exclude<T, false | null | undefined>;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("nothing came");
}
