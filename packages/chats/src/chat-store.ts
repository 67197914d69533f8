import { type BlobStorage, Lists } from "@scrollback/collections";
import { Blobs, eraseStream, Parts } from "@scrollback/collections/internal";
import { chatMessageTraits, type StoreFactory } from "@scrollback/store-core";
import { checkOptions, isId } from "@scrollback/store-core/driver";
import { checkValue, isBoolean, nameOfText } from "@scrollback/store-core/internal";
import { checkedBlobs } from "./blobs/checked-blobs.ts";
import { callbacksOf } from "./callbacks.ts";
import type { Chat, Identified } from "./chat.ts";
import { checkMove, checkStoreOptions } from "./checks.ts";
import { moveChat } from "./copy/move-chat.ts";
import { ChatFiles } from "./files/chat-files.ts";
import { sweepFiles } from "./files/sweep-files.ts";
import { OwnedChats } from "./list/owned-chats.ts";
import { rebuildLists } from "./list/rebuild-lists.ts";
import type { ErrorSource } from "./read/context.ts";
import { Followers } from "./read/followers.ts";
import type { StoredSummary } from "./read/head.ts";
import type { ListedChat } from "./read/listed-chat.ts";
import { type RunContext, Runs } from "./run/runs.ts";
import { AnswerStreams } from "./streams/answer-streams.ts";
import { locationOf } from "./threads.ts";

/**
 * Options of {@link ChatStore}. Each callback must return its result, not a promise. If it throws or returns an invalid result,
 * `onError` receives the error and the default is used.
 */
export interface ChatStoreOptions<M extends Identified> {
  /**
   * A store factory of any backend and any message type, without `maxMessages`: a reducer shortens a model's prompt.
   * With `ttlMs` a chat expires that long after its last write.
   */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** Returns the problem of a message, or undefined. The id and the role are always checked. If it throws, the message is refused. */
  check?(message: unknown): string | undefined;
  /** The text of a message for lists, which is cut to 160 characters. Default: its content, or its text parts. */
  preview?(message: M): string;
  /** Completes the answer of an unfinished run, for a copy of it. Default: unchanged. */
  closeAnswer?(message: M): M;
  /** Milliseconds since 1970. Default: this process's clock. */
  now?(): number;
  /**
   * Milliseconds without a heartbeat after which a run of this store is lost, for all processes. At least 3 times `beatMs`. The clocks
   * of processes should differ by less than a third of it. Default 15,000.
   */
  readonly leaseMs?: number;
  /** The interval in milliseconds at which a run saves its answer and checks for a request to stop. Default 2,000. */
  readonly beatMs?: number;
  /**
   * The names of labels that have lists of their own, so that a list with such a label reads only chats that have it. At most 8; the
   * same in all processes. After a change call {@link ChatStore.rebuildLists}. Default: none, so that a list with labels reads up to 500
   * chats for a page.
   */
  readonly indexedLabels?: readonly string[];
  /** The maximum number of messages that have one place in a chat, from 2. The one that was left first goes. Default 16. */
  readonly maxSiblings?: number;
  /** The maximum size in bytes of what a chat keeps beside its path. What was left first goes. Default 16 MiB. */
  readonly maxSiblingBytes?: number;
  /** Files of messages with at least this many bytes are stored apart. Default 65,536. */
  readonly fileBytes?: number;
  /**
   * Where the contents of these files are stored: the same place in all processes. `createFolderBlobs` of `@scrollback/chats/folder` and
   * `createS3Blobs` of `@scrollback/chats/s3` make storages. A call that takes longer than 2 minutes fails with `UNAVAILABLE`, and its
   * signal is aborted; so does one that throws an error, unless that is a StoreError. Default: the message store itself.
   */
  readonly blobs?: BlobStorage;
  /**
   * Called with errors that no caller receives: of background work and of ends of runs, which are retried automatically, and of
   * callbacks. It is not awaited; what it throws becomes a warning of the process. Default: a warning of the process, each message at
   * most once a minute.
   */
  onError?(error: unknown, source: ErrorSource): void;
}

/**
 * The chats of users. Each chat is one thread, with its messages, title, times and counts. Lists are exact.
 *
 * @example
 * await using chats = new ChatStore({ stores: await openStores("sqlite:chats.db") });
 * const mine = chats.of("ada");
 * const chat = await mine.create({ messages: [{ id: "m1", role: "user", content: "Which tram goes to the harbour?" }] });
 * console.log((await mine.list()).chats);
 */
export class ChatStore<M extends Identified = Identified> implements AsyncDisposable {
  readonly #context: RunContext<M>;
  readonly #background: Background;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores with `maxMessages`. */
  constructor(options: ChatStoreOptions<M>) {
    checkStoreOptions(options);
    const { leaseMs = 15_000, beatMs = 2_000, indexedLabels = [] } = options;
    const { maxSiblings = 16, maxSiblingBytes = 16 * 1_048_576, fileBytes = 64 * 1_024 } = options;
    const callbacks = callbacksOf(options);
    const { onError } = callbacks;
    const stores = options.stores.withTraits(chatMessageTraits);
    const lists = new Lists<StoredSummary, ListedChat>({
      stores,
      onError: (error) => onError(error, "list"),
    });
    const elsewhere = options.blobs && checkedBlobs(options.blobs);
    this.#background = new Background((error) => onError(error, "list"));
    const background = (task: Promise<unknown>) => this.#background.add(task);
    const sweep = (threadId: string, signal: AbortSignal | undefined) =>
      sweepFiles(this.#context, threadId, { incarnation: undefined, signal });
    this.#context = {
      ...callbacks,
      ...{ stores, lists, background, leaseMs, beatMs, indexedLabels },
      ...{ parts: new Parts(stores), maxSiblings, maxSiblingBytes },
      files: new ChatFiles(
        new Blobs(stores, { elsewhere, now: callbacks.now }),
        (base64) => nameOfText(stores, base64),
        fileBytes,
      ),
      ...{ runs: new Runs<M>(), followers: new Followers() },
      streams: new AnswerStreams(stores, (error) => onError(error, "stream")),
      sweep,
      release: async (threadId, signal) => {
        await eraseStream(stores, threadId, signal);
        await sweep(threadId, signal);
      },
    };
  }

  /** The chats of one user or tenant, without I/O. An owner id has 1 to 1,024 bytes. */
  of(ownerId: string): OwnedChats<M> {
    checkValue("of", "ownerId", isId, ownerId);
    return new OwnedChats(this.#context, ownerId);
  }

  /**
   * Moves a chat to another owner, with its id, messages, fields and times. While it moves, readers of the old owner still see it, and
   * writes to it fail with `CONFLICT`. Afterwards nothing of it is stored with the old owner. After a failure, call it again with the
   * same arguments: it finishes the move, or finds that it is done. The result has a new `incarnation`.
   *
   * @throws StoreError `CONFLICT` if the new owner has another chat of this id, a run is active, or the chat moves to a third owner;
   *   `NOT_FOUND` without the chat.
   */
  async move(
    chatId: string,
    options: { readonly from: string; readonly to: string; readonly signal?: AbortSignal },
  ): Promise<Chat> {
    checkValue("move", "chatId", isId, chatId);
    checkMove(options);
    const { from, to, signal } = options;
    return await moveChat(this.#context, locationOf(from, chatId), locationOf(to, chatId), signal);
  }

  /**
   * Lists each chat again that is not listed as its thread says: of one owner, or of all. Needed after a server lost data of lists, by
   * eviction or failover, and after a change of {@link ChatStoreOptions.indexedLabels}. Reads every chat.
   *
   * @returns the number of chats.
   */
  async rebuildLists({ ownerId, signal }: { ownerId?: string; signal?: AbortSignal } = {}): Promise<number> {
    if (ownerId !== undefined) checkValue("rebuildLists", "ownerId", isId, ownerId);
    return await rebuildLists(this.#context, ownerId, signal);
  }

  /**
   * Returns when no run of this process is active and the order of lists is stored. Call it before you close the stores. With
   * `runs: false` it waits for no run: it returns when the lists show what was written before the call.
   */
  async flush(options: { readonly runs?: boolean } = {}): Promise<void> {
    checkOptions("flush", options, { runs: isBoolean });
    if (options.runs !== false) await this.#context.runs.flush();
    await this.#background.flush();
    await this.#context.lists.flush();
  }

  /** The same as {@link ChatStore.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }
}

/** Background work, for which no caller waits. */
class Background {
  readonly #tasks = new Set<Promise<void>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  add(task: Promise<unknown>): void {
    const finished = task.then(() => undefined, this.#onError).finally(() => this.#tasks.delete(finished));
    this.#tasks.add(finished);
  }

  /** Returns when the background work has ended that is pending now. */
  async flush(): Promise<void> {
    await Promise.all(this.#tasks);
  }
}
