import type { OwnedChats } from "@scrollback/chats";
import { type AnswerThread, type AnswerWriter, answerThreadOf } from "@scrollback/chats/internal";
import type { UIMessage } from "ai";
import { inProcessStreams } from "./in-process-streams.ts";
import { SharedAnswers } from "./shared-answers.ts";
import type { ChatStreams } from "./streams.ts";
import { ERROR_EVENTS } from "./watched-stream.ts";

/**
 * Running answers in memory, and in the message store for listeners of other processes. An error of the store affects neither an answer
 * nor the listeners of this process.
 */
export class StoreStreams {
  readonly #local = inProcessStreams();
  readonly #remote = new SharedAnswers();
  readonly #writers = new Map<string, AnswerWriter>();

  /** The streams of one chat. */
  of<UI extends UIMessage>(chats: OwnedChats<UI>, chatId: string): ChatStreams {
    const local = this.#local;
    return {
      ...local,
      publish: (runId, stream) => {
        const thread = answerThreadOf(chats, chatId);
        if (!thread) return local.publish(runId, stream);
        const [own, stored] = stream.tee();
        local.publish(runId, own);
        this.#store(runId, thread, stored);
      },
      resume: async (runId) => {
        const text = await local.resume(runId);
        const thread = text ? undefined : answerThreadOf(chats, chatId);
        return thread ? await this.#remote.listen(runId, () => textOf(thread, runId)) : text;
      },
      close: () => this.close(),
    };
  }

  /** Returns when nothing of a run is stored any more. Never rejects. */
  async removed(runId: string): Promise<void> {
    await this.#writers.get(runId)?.ended;
  }

  /** Ends all listeners, and returns when nothing is stored any more. */
  async close(): Promise<void> {
    const writers = [...this.#writers.values()];
    for (const writer of writers) writer.hurry();
    await Promise.all(writers.map(({ ended }) => ended));
    await this.#local.close();
    await this.#remote.close();
  }

  #store(runId: string, thread: AnswerThread, stream: ReadableStream<string>): void {
    const writer = thread.write(runId);
    this.#writers.set(runId, writer);
    void writer.ended.then(() => this.#writers.delete(runId));
    void stream
      .pipeTo(new WritableStream({ write: (chunk) => writer.add(chunk) }))
      .catch(() => undefined)
      .finally(() => writer.end());
  }
}

/** The text of an answer of another process; undefined if it is not there. */
async function textOf(thread: AnswerThread, runId: string): Promise<ReadableStream<string> | undefined> {
  const listening = new AbortController();
  const text = await thread.listen(runId, listening.signal);
  return (
    text &&
    new ReadableStream<string>(
      {
        async pull(controller) {
          const next = await text.next();
          if (!next.done) return controller.enqueue(next.value);
          if (!next.value) controller.enqueue(ERROR_EVENTS);
          controller.close();
        },
        cancel: () => listening.abort(),
      },
      { highWaterMark: 0 },
    )
  );
}
