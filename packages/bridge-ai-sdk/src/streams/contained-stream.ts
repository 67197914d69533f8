import type { ChatRun } from "@scrollback/chats";
import type { UIMessage, UIMessageChunk } from "ai";
import { storableChunk } from "./storable.ts";

/** The time in which an aborted model may end its stream. */
const ABORT_GRACE_MS = 1_000;
/** The error text that clients get: the original text may contain secrets. */
export const ERROR_TEXT = "An error occurred.";

/** The chunks before which the texts of a step have ended. */
const endsTexts: ReadonlySet<string> = new Set(["finish-step", "finish", "abort"]);

/** The callbacks of a stream. */
export interface StreamKeeper<UI extends UIMessage> {
  readonly run: Pick<ChatRun<UI>, "messageId" | "signal">;
  /** Awaited before the next chunk is read. */
  see(chunk: UIMessageChunk): Promise<void>;
  onError(error: unknown): void;
  /**
   * Awaited before the stream is closed. Returns false if the answer is not whole, or could not be stored: then the client gets an
   * error.
   *
   * @param isOpen whether the stream ended within a step or a text.
   */
  end(isOpen: boolean): Promise<boolean>;
}

/**
 * A stream that reads its source without waiting for its own readers, and always ends. An error becomes an `error` chunk. A model
 * that does not end within 1 s after an abort is abandoned. The answer has the run's message id. The chunks are plain JSON that a
 * store accepts.
 */
export function containedStream<UI extends UIMessage>(
  source: ReadableStream<UIMessageChunk> | Promise<ReadableStream<UIMessageChunk>>,
  { run, see, onError, end }: StreamKeeper<UI>,
): ReadableStream<UIMessageChunk> {
  let isCancelled = false;
  return new ReadableStream<UIMessageChunk>({
    async start(controller) {
      let isStarted = false;
      let isOpen = false;
      const held: UIMessageChunk[] = [];
      const open = new OpenParts();
      const endTexts = async () => {
        for (const end of open.ends()) await emit(end);
      };
      const emit = async (chunk: UIMessageChunk) => {
        if (chunk.type !== "start" && !isStarted) await emit({ type: "start" });
        isStarted = true;
        // The SDK leaves open what a model, or an abort, has not ended; the stored answer has it closed.
        if (endsTexts.has(chunk.type)) await endTexts();
        // Readers fail for a second end: a model may end after its abort what was ended by it.
        if (open.isEnded(chunk)) return;
        open.see(chunk);
        const plain = storableChunk(sentChunk(chunk, run.messageId), onError);
        if (!plain) return;
        await see(plain);
        // A client may retry as soon as it reads the error, so the run must end first.
        if (plain.type === "error" || held.length > 0) held.push(plain);
        else if (!isCancelled) controller.enqueue(plain);
      };
      const opened = Promise.resolve(source).then((stream) => stream.getReader());
      const cancel = (reason: unknown) =>
        void opened.then((reader) => reader.cancel(reason)).catch(() => undefined);
      const abandoned = abandonment(run.signal);
      try {
        for (;;) {
          const next = await Promise.race([opened.then((reader) => reader.read()), abandoned.promise]);
          if (next === undefined) {
            await emit({ type: "abort" });
            cancel(run.signal.reason);
            break;
          }
          if (next.done) {
            isOpen = open.isOpen;
            await endTexts();
            break;
          }
          await emit(next.value);
        }
      } catch (error) {
        onError(error);
        await emit({ type: "error", errorText: ERROR_TEXT });
        cancel(error);
      } finally {
        abandoned.clear();
      }
      const isGood = await end(isOpen);
      if (!isGood) held.push({ type: "error", errorText: ERROR_TEXT });
      if (isCancelled) return;
      for (const chunk of held) controller.enqueue(chunk);
      controller.close();
    },
    cancel() {
      isCancelled = true;
    },
  });
}

function sentChunk(chunk: UIMessageChunk, messageId: string): UIMessageChunk {
  if (chunk.type === "start") return { ...chunk, messageId };
  // Its `reason` is the text of an error, which may contain secrets.
  return chunk.type === "abort" ? { type: "abort" } : chunk;
}

/** The step and the texts of an answer that have begun and not ended. */
class OpenParts {
  readonly #ends = new Map<string, UIMessageChunk>();
  #isInStep = false;

  get isOpen(): boolean {
    return this.#isInStep || this.#ends.size > 0;
  }

  /** Whether the chunk ends a text that is not open. */
  isEnded(chunk: UIMessageChunk): boolean {
    if (chunk.type === "text-end") return !this.#ends.has(`text ${chunk.id}`);
    return chunk.type === "reasoning-end" && !this.#ends.has(`reasoning ${chunk.id}`);
  }

  see(chunk: UIMessageChunk): void {
    switch (chunk.type) {
      case "text-start":
        this.#ends.set(`text ${chunk.id}`, { type: "text-end", id: chunk.id });
        break;
      case "reasoning-start":
        this.#ends.set(`reasoning ${chunk.id}`, { type: "reasoning-end", id: chunk.id });
        break;
      case "text-end":
        this.#ends.delete(`text ${chunk.id}`);
        break;
      case "reasoning-end":
        this.#ends.delete(`reasoning ${chunk.id}`);
        break;
      case "start-step":
        this.#isInStep = true;
        break;
      case "reset-step":
        // Readers drop the parts of the step.
        this.#ends.clear();
        break;
      case "finish-step":
      case "finish":
        this.#isInStep = false;
        break;
    }
  }

  ends(): UIMessageChunk[] {
    return [...this.#ends.values()];
  }
}

/** Resolves `ABORT_GRACE_MS` after the signal is aborted. */
function abandonment(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  const wait = () => {
    timer = setTimeout(() => resolve(undefined), ABORT_GRACE_MS);
  };
  if (signal.aborted) wait();
  else signal.addEventListener("abort", wait, { once: true });
  return {
    promise,
    clear() {
      clearTimeout(timer);
      signal.removeEventListener("abort", wait);
    },
  };
}
