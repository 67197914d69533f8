import {
  type Change,
  type ChatMessage,
  type MessageStore,
  type Revision,
  StoreError,
} from "@scrollback/store-core";
import { removeStream } from "./remove-stream.ts";
import type { StreamContext, StreamState } from "./stream-state.ts";
import { Waiter } from "./waiter.ts";

/** The time between the beginnings of two commits. */
const BATCH_MS = 250;
/** The maximum text of a message, and of a commit, in UTF-16 code units. */
const MESSAGE_UNITS = 256 * 1_024;
const COMMIT_UNITS = 4 * MESSAGE_UNITS;
/** The time without text after which a commit says that the answer goes on. */
const RENEW_MS = 20_000;
/** The time after the end within which listeners read it: the longest interval at which they read, and a request. */
const SEEN_MS = 1_000;
/** The time after the end at which the thread is deleted, so that listeners of a busy process read the end. */
const KEPT_MS = 2_000;
const ATTEMPTS = 8;

/**
 * Stores the text of a running answer, in batches.
 *
 * 1. The first commit has no text. It expects that nothing is there; or the revision of what another run has left, which it replaces.
 * 2. Between that revision and the next commit, the chat is read: it must have this run.
 * 3. Each commit expects the revision of the one before.
 *
 * So a deletion of the chat, or another run, that 2 does not see changes the revision, and by 3 no text is stored after it, nor behind a
 * gap.
 */
export class AnswerWriter {
  /** Settles when nothing is left of the text. Never rejects. */
  readonly ended: Promise<void>;
  readonly #context: StreamContext;
  readonly #runId: string;
  readonly #store: MessageStore;
  readonly #waiter: Waiter;
  /** What is not committed yet. */
  #text = "";
  #isEnded = false;
  #isHurried = false;
  #isOver = false;
  /** That of the last commit. Null: nothing was written. */
  #revision: Revision | null = null;
  /** The time of the clock at which the last commit began. */
  #begunAt = 0;

  /** Announces the stream with a commit. @param store of the stream's thread. */
  constructor(context: StreamContext, store: MessageStore, runId: string) {
    this.#context = context;
    this.#store = store;
    this.#runId = runId;
    this.#waiter = new Waiter(context.clock);
    this.ended = this.#run();
  }

  add(text: string): void {
    if (this.#isOver) return;
    this.#text += text;
    this.#waiter.wake();
  }

  /** The answer has ended. The text is deleted 2 seconds later. */
  end(): void {
    this.#isEnded = true;
    this.#waiter.wake();
  }

  /** Deletes the text 1 second after the end. */
  hurry(): void {
    this.#isHurried = true;
    this.#waiter.wake();
  }

  async #run(): Promise<void> {
    const { onError, stores } = this.#context;
    let isSure = true;
    try {
      if (await this.#begin()) {
        await this.#writeAll();
        await this.#waiter.until(SEEN_MS, never);
        await this.#waiter.until(KEPT_MS - SEEN_MS, () => this.#isHurried);
      }
    } catch (error) {
      // Another run's stream, or the chat was deleted. After another error a commit may have taken effect.
      isSure = StoreError.is(error, "CONFLICT");
      if (!isSure) onError(error);
    }
    this.#isOver = true;
    this.#text = "";
    const expectedRevision = this.#revision;
    try {
      if (!isSure) await removeStream(stores, this.#store, this.#runId);
      else if (expectedRevision !== null)
        await stores.deleteThread(this.#store.threadId, { expectedRevision });
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) onError(error);
    }
  }

  /** Announces the stream. Returns false if the chat has another run, or was deleted. */
  async #begin(): Promise<boolean> {
    const { clock, isCurrent } = this.#context;
    const change = { metadata: { run: this.#runId } satisfies StreamState };
    const begun = clock.monotonic();
    let found: Revision | null = null;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#commit(found === null ? change : { drop: "all", ...change }, found);
        return found !== null || (await isCurrent(this.#runId));
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT") || attempt === ATTEMPTS) throw error;
      }
      let page = await this.#store.read({ limit: 0 });
      // The run before may have its end to store, and its listeners to read it.
      while (page.revision !== null && clock.monotonic() < begun + SEEN_MS) {
        await this.#waiter.until(BATCH_MS, never);
        page = await this.#store.read({ limit: 0 });
      }
      found = page.revision;
      if (!(await isCurrent(this.#runId))) return false;
    }
  }

  /** Commits all text, and the end. */
  async #writeAll(): Promise<void> {
    const { monotonic } = this.#context.clock;
    for (let isLast = false; !isLast; ) {
      await this.#waiter.until(this.#begunAt + BATCH_MS - monotonic(), never);
      await this.#waiter.until(RENEW_MS, () => this.#isEnded || this.#text !== "");
      const text = this.#take();
      isLast = this.#isEnded && this.#text === "";
      const state: StreamState = { run: this.#runId, ...(isLast && { isEnded: true }) };
      // Metadata that says nothing new doubles the costs on DynamoDB. Without text it renews the ttl.
      const metadata = (isLast || text === "") && { metadata: state };
      await this.#commit({ append: messagesOf(text), ...metadata }, this.#revision);
    }
  }

  async #commit(change: Change<ChatMessage>, expectedRevision: Revision | null): Promise<void> {
    this.#begunAt = this.#context.clock.monotonic();
    this.#revision = await this.#store.commit(change, { expectedRevision });
  }

  /** The text of the next commit. */
  #take(): string {
    const end = boundary(this.#text, COMMIT_UNITS);
    const text = this.#text.slice(0, end);
    this.#text = this.#text.slice(end);
    return text;
  }
}

const never = () => false;

/** As many messages as a text needs. */
function messagesOf(text: string): ChatMessage[] {
  const append: ChatMessage[] = [];
  for (let from = 0; from < text.length; ) {
    const end = from + boundary(text.slice(from, from + MESSAGE_UNITS + 1), MESSAGE_UNITS);
    append.push({ role: "assistant", content: text.slice(from, end) });
    from = end;
  }
  return append;
}

/** The number of code units of a text, at most `max`, that do not end within a character. */
function boundary(text: string, max: number): number {
  if (text.length <= max) return text.length;
  const last = text.charCodeAt(max - 1);
  return last >= 0xd800 && last < 0xdc00 ? max - 1 : max;
}
