import { MarkedDirectories, systemDirectoryClock } from "@scrollback/collections";
import { chatMessageTraits, isId, type StoreFactory } from "@scrollback/store-core";
import { Background } from "./background.ts";
import type { Identified } from "./chat.ts";
import { checkStoreOptions, checkValue } from "./checks.ts";
import type { ErrorSource } from "./context.ts";
import { textOf } from "./entries.ts";
import { Followers } from "./followers.ts";
import type { StoredSummary } from "./head.ts";
import { OwnedChats } from "./owned-chats.ts";
import type { RunContext } from "./run-context.ts";
import { Runs } from "./runs.ts";
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
  closeAnswer?(message: M): M;
  /** Milliseconds since 1970. Default: this process's clock. */
  now?(): number;
  /** A run that was not heard of for so long is lost. At least 3 times `beatMs`. Default 15,000. */
  readonly leaseMs?: number;
  /** How often a run saves what it has, and looks whether it is to stop. Default 2,000. */
  readonly beatMs?: number;
  /** Is called with what failed in the background; it is tried again by itself. */
  onError?(error: unknown, source: ErrorSource): void;
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
  readonly #context: RunContext<M>;
  readonly #background: Background;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores with `maxMessages`. */
  constructor(options: ChatStoreOptions<M>) {
    checkStoreOptions(options);
    const { check = () => undefined, preview = textOf, closeAnswer = (message) => message } = options;
    const { now = Date.now, leaseMs = 15_000, beatMs = 2_000, onError = () => undefined } = options;
    const stores = options.stores.withTraits(chatMessageTraits);
    const directories = new MarkedDirectories<StoredSummary>({
      stores,
      leafThread: threads.leaf,
      clock: { ...systemDirectoryClock, wall: now },
      onError: (error) => onError(error, "list"),
    });
    this.#background = new Background((error) => onError(error, "list"));
    const background = (task: Promise<unknown>) => this.#background.add(task);
    this.#context = {
      ...{ stores, directories, check, preview, closeAnswer, now, onError, background },
      ...{ leaseMs, beatMs, runs: new Runs<M>(), followers: new Followers() },
    };
  }

  /** The chats of one user or tenant, without I/O. An owner id has 1 to 1,024 bytes. */
  of(ownerId: string): OwnedChats<M> {
    checkValue("of", "ownerId", isId, ownerId);
    return new OwnedChats(this.#context, ownerId);
  }

  /** Returns when no run of this process is under way and the order of lists is written down. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#context.runs.flush();
    await this.#background.flush();
    await this.#context.directories.flush();
  }

  /** The same as {@link ChatStore.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }
}
