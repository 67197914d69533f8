import { streamOf } from "@scrollback/collections/internal";
import type { ChatMessage, MessageStore, ThreadPage } from "@scrollback/store-core";
import { AnswerWriter } from "./answer-writer.ts";
import { removeStream } from "./remove-stream.ts";
import { type StreamContext, stateOf } from "./stream-state.ts";
import { Waiter } from "./waiter.ts";

/** The time between the beginnings of two reads of a listener. */
const READ_MS = 250;
/** The same after `SILENT_MS` without text. */
const SILENT_READ_MS = 500;
const SILENT_MS = 5_000;
/** The same for stores that give hints, which may be lost. */
const HINTED_READ_MS = 2_000;
/** The time for which the text of a process that died is read. */
const TTL_MS = 60_000;

/**
 * The text of a chat's running answer in a thread of its own, for listeners of other processes. The name is the chat's, so that its
 * deletion finds the thread whatever is known of the run; one answer at a time is in it.
 */
export class AnswerThread {
  readonly #context: StreamContext;
  readonly #store: MessageStore;

  /** @param threadId the chat's. @throws StoreError `UNSUPPORTED` if threads of the stores cannot expire. */
  constructor(context: StreamContext, threadId: string) {
    this.#context = context;
    this.#store = context.stores.open(streamOf(threadId), { ttlMs: TTL_MS });
  }

  /** Begins to store the answer of a run of this process. */
  write(runId: string): AnswerWriter {
    return new AnswerWriter(this.#context, this.#store, runId);
  }

  /**
   * The text of a running answer from its beginning, as it is stored. Undefined if it is not there. It returns true if it is whole, and
   * false if no more can be read.
   *
   * @param signal ends it; it then returns false.
   */
  async listen(runId: string, signal: AbortSignal): Promise<AsyncGenerator<string, boolean> | undefined> {
    const first = await this.#store.read({ signal });
    return stateOf(first).run === runId ? this.#follow(runId, first, signal) : undefined;
  }

  async *#follow(
    runId: string,
    first: ThreadPage<ChatMessage>,
    signal: AbortSignal,
  ): AsyncGenerator<string, boolean> {
    const { stores, clock } = this.#context;
    const waiter = new Waiter(clock);
    signal.addEventListener("abort", waiter.wake, { once: true });
    using watch = stores.watch(this.#store.threadId, waiter.wake);
    let page = first;
    let after = page.newer;
    let readAt = clock.monotonic();
    let textAt = readAt;
    try {
      for (;;) {
        const { run, isEnded } = stateOf(page);
        // A stream that is gone never comes back: its writer expects the revision before.
        if (run !== runId) return false;
        const text = page.entries.map(({ message }) => message.content as string).join("");
        if (text !== "") {
          textAt = clock.monotonic();
          yield text;
        }
        if (isEnded) return true;
        const isSilent = clock.monotonic() - textAt > SILENT_MS;
        const interval = watch ? HINTED_READ_MS : isSilent ? SILENT_READ_MS : READ_MS;
        await waiter.wait(Math.max(0, readAt + interval - clock.monotonic()));
        if (signal.aborted) return false;
        readAt = clock.monotonic();
        page = await this.#store.read({ signal, ...(after !== undefined && { after }) });
        after = page.newer ?? after;
      }
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    } finally {
      signal.removeEventListener("abort", waiter.wake);
    }
  }

  /** Deletes the stream of a run whose process has died. */
  async remove(runId: string): Promise<void> {
    await removeStream(this.#context.stores, this.#store, runId);
  }
}
