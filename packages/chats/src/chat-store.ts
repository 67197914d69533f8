import { MarkedDirectories, systemDirectoryClock } from "@scrollback/collections";
import { chatMessageTraits, isId, type StoreFactory } from "@scrollback/store-core";
import { Background } from "./background.ts";
import type { Identified } from "./chat.ts";
import { checkStoreOptions, checkValue } from "./checks.ts";
import type { ChatContext } from "./context.ts";
import { textOf } from "./entries.ts";
import type { StoredSummary } from "./head.ts";
import { OwnedChats } from "./owned-chats.ts";
import { threads } from "./threads.ts";

/** What a {@link ChatStore} takes. */
export interface ChatStoreOptions<M extends Identified> {
  /**
   * A store factory of any backend and any message type, without `maxMessages`: what a model gets is shortened by a reducer.
   * With `ttlMs` a chat expires that long after its last write.
   */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** What is wrong with a message, or nothing. Its id and its role are checked in any case. */
  check?(message: unknown): string | undefined;
  /** The text of a message for lists, which is cut to 160 characters. Default: its content, or its text parts. */
  preview?(message: M): string;
  /** Makes the answer of a run that has not ended one that gets no more. Asked for what is copied. Default: as it is. */
  settle?(message: M): M;
  /** Milliseconds since 1970. Default: this process's clock. */
  now?(): number;
  /** Is called with what failed in the background; it is tried again by itself. */
  onError?(error: unknown): void;
}

/**
 * Chats of users: messages with their titles, times and counts in one thread each, and lists that are exact.
 *
 * @example
 * await using chats = new ChatStore({ stores: await openStores("sqlite:chats.db") });
 * const mine = chats.of("ada");
 * const chat = await mine.create({ messages: [{ id: "m1", role: "user", content: "Which tram goes to the harbour?" }] });
 * console.log((await mine.list()).chats);
 */
export class ChatStore<M extends Identified = Identified> implements AsyncDisposable {
  readonly #context: ChatContext<M>;
  readonly #background: Background;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for a wrong option, and for stores with `maxMessages`. */
  constructor(options: ChatStoreOptions<M>) {
    checkStoreOptions(options);
    const { check = () => undefined, preview = textOf, settle = (message) => message } = options;
    const { now = Date.now, onError = () => undefined } = options;
    const stores = options.stores.withTraits(chatMessageTraits);
    const directories = new MarkedDirectories<StoredSummary>({
      stores,
      leafThread: threads.leaf,
      clock: { ...systemDirectoryClock, wall: now },
      onError,
    });
    this.#background = new Background(onError);
    const background = (task: Promise<unknown>) => this.#background.add(task);
    this.#context = { stores, directories, check, preview, settle, now, background };
  }

  /** The chats of one user or tenant, without I/O. An owner id has 1 to 1,024 bytes. */
  of(ownerId: string): OwnedChats<M> {
    checkValue("of", "ownerId", isId, ownerId);
    return new OwnedChats(this.#context, ownerId);
  }

  /** Returns when the order of lists is written down. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#background.flush();
    await this.#context.directories.flush();
  }

  /** The same as {@link ChatStore.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }
}
