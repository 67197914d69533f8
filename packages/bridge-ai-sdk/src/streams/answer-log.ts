/** The text of a running answer, which its listeners share. A listener reads it at its own speed, and takes no memory of its own. */
export class AnswerLog {
  /** The newest chunks. */
  readonly #chunks: string[] = [];
  /** The number of older chunks, which were dropped. */
  #dropped = 0;
  #bytes = 0;
  #isEnded = false;
  #listeners = 0;
  /** Of the listeners that wait for a change. */
  #changed: PromiseWithResolvers<void> | undefined;
  /** Whether chunks came while the listeners rested. */
  #hasNews = false;
  #resting: NodeJS.Timeout | undefined;

  /** Whether a listener can start at the beginning. */
  get isWhole(): boolean {
    return this.#dropped === 0;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get hasListeners(): boolean {
    return this.#listeners > 0;
  }

  /** Returns the memory that the chunk takes, in bytes. */
  append(chunk: string): number {
    const bytes = bytesOf(chunk);
    this.#chunks.push(chunk);
    this.#bytes += bytes;
    this.#wakeSoon();
    return bytes;
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  /**
   * Drops the oldest chunks until the others take at most `bytes`. Keeps the newest one, unless `bytes` is 0. Returns the memory that the
   * dropped ones took, in bytes.
   */
  cut(bytes: number): number {
    const before = this.#bytes;
    let count = 0;
    const last = bytes > 0 ? this.#chunks.length - 1 : this.#chunks.length;
    for (; count < last && this.#bytes > bytes; count++) this.#bytes -= bytesOf(this.#chunks[count] ?? "");
    this.#chunks.splice(0, count);
    this.#dropped += count;
    this.#wake();
    return before - this.#bytes;
  }

  /**
   * Reads from the beginning.
   *
   * @param behind ends the text of a listener whose next chunk was dropped.
   * @param onLeave called when the listener has read everything, is behind, or has cancelled.
   */
  listen(behind: string, onLeave: () => void): ReadableStream<string> {
    let position = 0;
    let isListening = true;
    this.#listeners++;
    const leave = () => {
      if (!isListening) return;
      isListening = false;
      this.#listeners--;
      onLeave();
    };
    const pull = async (controller: ReadableStreamDefaultController<string>) => {
      while (isListening && !this.#isEnded && position === this.#dropped + this.#chunks.length) {
        this.#changed ??= Promise.withResolvers();
        await this.#changed.promise;
      }
      if (!isListening) return;
      const piece = position < this.#dropped ? undefined : this.#pieceAt(position - this.#dropped);
      if (piece && piece.count > 0) {
        position += piece.count;
        controller.enqueue(piece.text);
        return;
      }
      if (!piece) controller.enqueue(behind);
      controller.close();
      leave();
    };
    // Takes a chunk when it is read, not before.
    return new ReadableStream<string>({ pull, cancel: leave }, { highWaterMark: 0 });
  }

  /** The chunks from an index on, as one text of about `PIECE_BYTES`. */
  #pieceAt(index: number): { text: string; count: number } {
    let end = index;
    for (let bytes = 0; end < this.#chunks.length && bytes < PIECE_BYTES; end++)
      bytes += bytesOf(this.#chunks[end] ?? "");
    return { text: this.#chunks.slice(index, end).join(""), count: end - index };
  }

  /** Wakes the listeners, at once if they have not been woken lately. */
  #wakeSoon(): void {
    this.#hasNews = true;
    if (this.#resting === undefined) this.#wake();
  }

  #wake(): void {
    if (!this.#changed) return;
    this.#changed.resolve();
    this.#changed = undefined;
    this.#hasNews = false;
    clearTimeout(this.#resting);
    const begun = performance.now();
    // Runs when all listeners have taken what there is.
    this.#resting = setTimeout(() => this.#rest((performance.now() - begun) * REST), 0);
  }

  /** Then many listeners get several chunks together: a process that is busy with single ones would start no others. */
  #rest(ms: number): void {
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      if (this.#hasNews) this.#wake();
    }, ms);
  }
}

const PIECE_BYTES = 64 * 1_024;
/** The time after a chunk for which listeners are not woken, as a multiple of the time that they took for it. */
const REST = 3;

/** Strings take at most 2 bytes a character. */
function bytesOf(text: string): number {
  return text.length * 2;
}
