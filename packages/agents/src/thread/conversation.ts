import { type ChatMessage, type Revision, StoreError, type WriteOptions } from "@scrollback/store-core";
import type { ContextProvider } from "../context/context-provider.ts";
import { serializeProviders } from "../context/provider-states.ts";
import { checkStored } from "../messages.ts";
import { openStore, type StoreSource } from "./store-source.ts";
import type { ThreadState } from "./thread-state.ts";
import { type History, hasRevisions, readHistory, type ThreadStore, toStoreError } from "./thread-store.ts";

const ONE_LOCATION = "a thread's history is either with the provider or in a store, and does not move";

/** The internal state of a thread: where its history is, which runs use it, and which providers know it. */
export class Conversation {
  stores: StoreSource | undefined;
  providers: readonly ContextProvider[] | undefined;
  /** The {@link providers} that were created for this thread alone and are closed with it. */
  own: readonly ContextProvider[] = [];
  #serviceThreadId: string | undefined;
  #store: ThreadStore | undefined;
  #opening: Promise<ThreadStore> | undefined;
  /** The revision of the store's thread at the last read or write; undefined if unknown. */
  #revision: Revision | null | undefined;
  /** The number of providers that know the thread's id. */
  #announced = 0;
  #announcing: Promise<void> | undefined;
  #runs = 0;

  constructor(stores: StoreSource | undefined, providers: readonly ContextProvider[] | undefined) {
    this.stores = stores;
    this.providers = providers;
  }

  get serviceThreadId(): string | undefined {
    return this.#serviceThreadId;
  }

  get store(): ThreadStore | undefined {
    return this.#store;
  }

  /** The id by which providers know the thread. */
  get id(): string | undefined {
    return this.#serviceThreadId ?? this.#store?.threadId;
  }

  setServiceThreadId(id: string): void {
    if (this.#store) {
      throw new StoreError(
        "INVALID_STATE",
        `serviceThreadId: this thread has a messageStore; ${ONE_LOCATION}`,
      );
    }
    this.#serviceThreadId = id;
  }

  setStore(store: ThreadStore): void {
    if (this.#serviceThreadId !== undefined) {
      throw new StoreError(
        "INVALID_STATE",
        `messageStore: this thread has a serviceThreadId; ${ONE_LOCATION}`,
      );
    }
    this.#store = store;
    this.#revision = undefined;
  }

  /** Marks the providers of a restored thread with an id as informed of that id. */
  markRestored(): void {
    if (this.id !== undefined) this.#announced = Number.POSITIVE_INFINITY;
  }

  /**
   * Reserves the thread for one run.
   *
   * @throws StoreError `CONFLICT` when another run holds it, unless both may append.
   */
  begin(onConflict: "fail" | "append"): void {
    if (this.#runs > 0 && onConflict === "fail") {
      throw new StoreError("CONFLICT", "thread: another run is active; wait until it ends");
    }
    this.#runs += 1;
  }

  end(): void {
    this.#runs -= 1;
  }

  /** The store; created now if the thread has none. */
  async openStore(): Promise<ThreadStore> {
    if (this.#store) return this.#store;
    this.#opening ??= openStore(this.stores);
    try {
      const store = await this.#opening;
      if (!this.#store) this.setStore(store);
      return store;
    } finally {
      this.#opening = undefined;
    }
  }

  async history(signal: AbortSignal | undefined): Promise<History> {
    const store = await this.openStore();
    try {
      const history = await readHistory(store, this.#revision, signal);
      checkStored(history.messages);
      this.#revision = history.revision;
      return history;
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /** @returns the thread's revision after the write; undefined for a store without revisions. */
  async add(messages: readonly ChatMessage[], options: WriteOptions): Promise<Revision | null | undefined> {
    const store = await this.openStore();
    try {
      const written = await store.addMessages(messages, options);
      this.#revision = hasRevisions(store) ? (written as Revision | null) : undefined;
      return this.#revision;
    } catch (error) {
      this.#revision = undefined;
      throw toStoreError(error);
    }
  }

  /** Passes the thread's id to each provider, once. A provider that fails receives it again at the next call. */
  async announce(): Promise<void> {
    this.#announcing ??= this.#announce();
    try {
      await this.#announcing;
    } finally {
      this.#announcing = undefined;
    }
  }

  async #announce(): Promise<void> {
    const { id, providers = [] } = this;
    if (id === undefined) return;
    for (const provider of providers.slice(this.#announced)) {
      await provider.threadCreated?.(id);
      this.#announced += 1;
    }
  }

  async serialize(): Promise<ThreadState> {
    await this.announce();
    const contextStates = await serializeProviders(this.providers ?? []);
    let storeState: unknown;
    try {
      storeState = await this.#store?.serialize();
    } catch (error) {
      throw toStoreError(error);
    }
    return {
      type: "scrollback.thread",
      version: 1,
      ...(this.#serviceThreadId !== undefined && { serviceThreadId: this.#serviceThreadId }),
      ...(storeState !== undefined && { storeState }),
      ...(contextStates !== undefined && { contextStates }),
    };
  }
}
