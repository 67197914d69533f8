import { AnswerLog } from "./answer-log.ts";
import { ERROR_EVENTS } from "./watched-stream.ts";

/** The memory for the text of one answer. Beyond it the oldest text goes, and a later listener reads the answer on its own. */
const MAX_BYTES = 4 * 1_024 * 1_024;

/** Opens the text of an answer of another process, from its beginning; undefined if it is not available. */
export type OpenAnswer = () => Promise<ReadableStream<string> | undefined>;

/** Answers of other processes, each read once for all its listeners in this process. */
export class SharedAnswers {
  /** By run. */
  readonly #opening = new Map<string, Promise<SharedAnswer | undefined>>();

  /** The text of an answer from its beginning; undefined if it is not available. @throws what `open` throws. */
  async listen(runId: string, open: OpenAnswer): Promise<ReadableStream<string> | undefined> {
    for (;;) {
      const opening = this.#opening.get(runId) ?? this.#open(runId, open);
      const answer = await opening;
      if (!answer) return undefined;
      const text = answer.listen();
      if (text) return text;
      // The listeners that it had have left, or its beginning is gone.
      if (this.#opening.get(runId) === opening) this.#opening.delete(runId);
    }
  }

  /** Ends all listeners. */
  async close(): Promise<void> {
    const answers = await Promise.allSettled(this.#opening.values());
    for (const answer of answers) if (answer.status === "fulfilled") answer.value?.close();
  }

  #open(runId: string, open: OpenAnswer): Promise<SharedAnswer | undefined> {
    const forget = () => {
      if (this.#opening.get(runId) === opening) this.#opening.delete(runId);
    };
    const opening: Promise<SharedAnswer | undefined> = open().then(
      (text) => {
        if (text) return new SharedAnswer(text, forget);
        forget();
        return undefined;
      },
      (error) => {
        forget();
        throw error;
      },
    );
    this.#opening.set(runId, opening);
    return opening;
  }
}

/** An answer that is read until it ends, or its last listener leaves. */
class SharedAnswer {
  readonly #log = new AnswerLog();
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #forget: () => void;
  #isLeft = false;
  #bytes = 0;

  constructor(text: ReadableStream<string>, forget: () => void) {
    this.#reader = text.getReader();
    this.#forget = forget;
    void this.#read();
  }

  /** Undefined if it is read no more, or its beginning is gone. */
  listen(): ReadableStream<string> | undefined {
    if (this.#isLeft || !this.#log.isWhole) return undefined;
    return this.#log.listen(ERROR_EVENTS, () => {
      if (!this.#log.hasListeners) this.close();
    });
  }

  close(): void {
    this.#isLeft = true;
    this.#end();
    void this.#reader.cancel().catch(() => undefined);
  }

  async #read(): Promise<void> {
    try {
      for (let next = await this.#reader.read(); !next.done; next = await this.#reader.read()) {
        this.#bytes += this.#log.append(next.value);
        if (this.#bytes > MAX_BYTES) this.#bytes -= this.#log.cut(MAX_BYTES);
      }
    } catch {
      this.#log.append(ERROR_EVENTS);
    }
    this.#end();
  }

  #end(): void {
    this.#forget();
    this.#log.end();
  }
}
