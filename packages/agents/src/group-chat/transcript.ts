import {
  type Change,
  type ChatMessage,
  createMemoryStores,
  type MessageStore,
  type Revision,
  StoreError,
} from "@scrollback/store-core";
import { checkStored } from "../messages.ts";
import { channelKey } from "./channels/channel.ts";
import { type ChatProgress, parseProgress } from "./chat-state.ts";
import { copyOf, entered } from "./participant.ts";

/**
 * A chat's primary history: a store's thread and a copy of it. Messages and the chat's progress are one commit,
 * compare-and-set against the known revision. After a commit with an unknown outcome the thread is read again.
 */
export class Transcript {
  #store: MessageStore;
  /** Whether the chat received the store from its caller; the store then outlives the chat. */
  readonly isStored: boolean;
  #messages: ChatMessage[] = [];
  #ids = new Set<string>();
  #revision: Revision | null | undefined;
  /** Whether the copy is known to equal the thread. */
  #isCurrent = false;
  /** Other data in the thread's metadata. It does not belong to the chat and is kept. */
  #others: Record<string, unknown> = {};

  constructor(store: MessageStore | undefined) {
    this.isStored = store !== undefined;
    this.#store = store ?? createMemoryStores().open();
  }

  /** Oldest first. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /**
   * Reads the thread if needed.
   *
   * @returns the chat's stored progress; null if there is none; undefined if the thread is unchanged.
   */
  async open(signal?: AbortSignal): Promise<ChatProgress | null | undefined> {
    if (this.#isCurrent) return undefined;
    const options = signal ? { signal } : {};
    if (this.#revision !== undefined) {
      const { revision } = await this.#store.read({ limit: 0, ...options });
      if (revision === this.#revision) {
        this.#isCurrent = true;
        return undefined;
      }
    }
    return await this.#load(options);
  }

  async #load(options: { signal?: AbortSignal }): Promise<ChatProgress | null> {
    const { entries, revision, metadata } = await this.#store.read(options);
    const { groupChat, ...others } = readMetadata(metadata);
    const progress = groupChat === undefined ? null : parseProgress(groupChat, "metadata.groupChat");
    const { threadId } = this.#store;
    checkStored(entries.map(({ message }) => message));
    this.#messages = entries.map(({ sequence, message }) =>
      message.id === undefined ? { ...message, id: channelKey(threadId, String(sequence)) } : message,
    );
    this.#ids = new Set(this.#messages.map(({ id }) => String(id)));
    this.#others = others;
    this.#revision = revision;
    this.#isCurrent = true;
    return progress;
  }

  /** Adds messages in one commit with the chat's progress. */
  async append(
    messages: readonly ChatMessage[],
    progress: ChatProgress,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const append = messages.map((message) => entered(message));
    await this.#commit({ append, metadata: this.#metadata(progress) }, signal);
    for (const message of append) {
      this.#messages.push(copyOf(message));
      this.#ids.add(String(message.id));
    }
  }

  async save(progress: ChatProgress): Promise<void> {
    await this.#commit({ metadata: this.#metadata(progress) }, undefined);
  }

  async clear(): Promise<void> {
    const others = Object.keys(this.#others).length > 0 ? this.#others : null;
    await this.#commit({ drop: "all", metadata: others }, undefined);
    this.#messages = [];
    this.#ids = new Set();
  }

  async serialize(): Promise<unknown> {
    return await this.#store.serialize();
  }

  /**
   * Moves to the thread of a store's state.
   *
   * @returns the chat's stored progress, and a function that moves back.
   */
  async restore(state: unknown): Promise<{ progress: ChatProgress | null; undo: () => Promise<void> }> {
    const before = this.isStored ? await this.#store.serialize() : undefined;
    const undo = async () => {
      if (before === undefined) this.#store = createMemoryStores().open();
      else await this.#store.updateFromState(before);
      // The next call reads the thread, with the progress that is stored in it.
      this.#messages = [];
      this.#ids = new Set();
      this.#revision = undefined;
      this.#isCurrent = false;
    };
    try {
      await this.#store.updateFromState(state);
      return { progress: await this.#load({}), undo };
    } catch (error) {
      await undo();
      throw error;
    }
  }

  /** Whether a store's state describes this thread. */
  isAt(state: unknown): boolean {
    if (!this.isStored || typeof state !== "object" || state === null) return false;
    return "threadId" in state && state.threadId === this.#store.threadId;
  }

  #metadata(progress: ChatProgress): Record<string, unknown> {
    return { ...this.#others, groupChat: { version: 1, ...progress } };
  }

  async #commit(change: Change, signal: AbortSignal | undefined): Promise<void> {
    this.#isCurrent = false;
    try {
      const expectedRevision = this.#revision ?? null;
      this.#revision = await this.#store.commit(change, { expectedRevision, ...(signal && { signal }) });
    } catch (cause) {
      if (!StoreError.is(cause, "CONFLICT")) throw cause;
      const problem =
        "store: another writer changed the thread since this chat read it; nothing was added, and the next call continues from the current history";
      throw new StoreError("CONFLICT", problem, { cause });
    }
    this.#isCurrent = true;
  }
}

function readMetadata(metadata: unknown): Record<string, unknown> {
  if (metadata === undefined) return {};
  if (typeof metadata === "object" && metadata !== null && !Array.isArray(metadata)) return { ...metadata };
  throw new StoreError("INVALID_STATE", "store: the thread's metadata must be an object, or absent");
}
