import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { RecentMap, systemClock } from "@scrollback/store-core/internal";
import { ChatView } from "../read/chat-view.ts";
import { AnswerThread } from "./answer-thread.ts";

/** The number of lost runs whose streams are not looked for again. */
const REMEMBERED = 1_000;

/** The streams of the running answers of chats. */
export class AnswerStreams {
  readonly #stores: StoreFactory;
  readonly #onError: (error: unknown) => void;
  readonly #removed = new RecentMap<true>(REMEMBERED);

  constructor(stores: StoreFactory, onError: (error: unknown) => void) {
    this.#stores = stores;
    this.#onError = onError;
  }

  /** That of a chat; undefined if threads of the stores cannot expire, so that the text of a process that died would stay. */
  of(threadId: string): AnswerThread | undefined {
    const stores = this.#stores;
    const isCurrent = async (runId: string) =>
      (await ChatView.read(stores, threadId, { limit: 0 })).head?.run?.id === runId;
    try {
      return new AnswerThread({ stores, clock: systemClock, isCurrent, onError: this.#onError }, threadId);
    } catch (error) {
      if (StoreError.is(error, "UNSUPPORTED")) return undefined;
      throw error;
    }
  }

  /** Removes that of a run that a list has found lost, once a process. */
  async removeLost(threadId: string, runId: string): Promise<void> {
    const key = `${threadId}:${runId}`;
    if (this.#removed.get(key)) return;
    this.#removed.set(key, true);
    await this.of(threadId)?.remove(runId);
  }
}
