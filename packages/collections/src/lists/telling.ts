import { StoreError } from "@scrollback/store-core";
import { type Clock, retry } from "@scrollback/store-core/internal";
import { DAY, type Entries } from "./entries.ts";
import { type Listed, type Member, placesOf, type Snapshot } from "./listed.ts";
import { ifReadable } from "./removal.ts";

/** Within this time the entries of a thread say what its head says. */
const TOLD_WITHIN_MS = 1_000;
const TOLD_AT_ONCE = 8;
const RETRIES = { attempts: 20, longestPause: 4, isFirstCached: true };
/** The error of a clock beside which lists still work. */
const MAX_SKEW_MS = 30 * DAY;
/** The number of threads of which a process remembers that their entries are there. */
const MAX_SEEN = 10_000;

interface Waiting<T, S extends Snapshot<T>> {
  readonly member: Member<T, S>;
  readonly snapshot: S;
}

/** Brings the entries of threads to what their heads say. */
export class Telling<T, S extends Snapshot<T>> {
  readonly #entries: Entries<T>;
  readonly #clock: Pick<Clock, "timer" | "sleep">;
  readonly #onError: (error: unknown) => void;
  readonly #waiting = new Map<string, Waiting<T, S>>();
  readonly #seen = new Set<string>();
  #timer: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(entries: Entries<T>, clock: Pick<Clock, "timer" | "sleep">, onError: (error: unknown) => void) {
    this.#entries = entries;
    this.#clock = clock;
    this.#onError = onError;
  }

  /**
   * Tells the entries of a thread now, and again within a second if that fails. A thread whose entry is gone gets another one.
   *
   * @throws what a request throws.
   */
  async now(member: Member<T, S>, snapshot: S): Promise<void> {
    const waiting = this.#waiting.get(member.threadId);
    if (waiting && waiting.snapshot.version <= snapshot.version) this.#waiting.delete(member.threadId);
    try {
      await this.#tell(member, snapshot);
    } catch (error) {
      this.soon(member, snapshot);
      throw error;
    }
  }

  /** Tells the entries of a thread within a second. */
  soon(member: Member<T, S>, snapshot: S): void {
    const before = this.#waiting.get(member.threadId)?.snapshot;
    if (!before || before.incarnation !== snapshot.incarnation || before.version < snapshot.version)
      this.#waiting.set(member.threadId, { member, snapshot });
    this.#timer ??= this.#clock.timer(TOLD_WITHIN_MS, () => {
      this.#timer = undefined;
      void this.flush().catch(() => undefined);
    });
  }

  /** Tells the entries of a thread that was read, once a process: an earlier process may have died before it did. */
  seen(member: Member<T, S>, snapshot: S): void {
    if (!this.#seen.has(member.threadId)) this.soon(member, snapshot);
  }

  /** Forgets a thread that was deleted. */
  forget({ threadId }: Member<T, S>): void {
    this.#seen.delete(threadId);
    this.#waiting.delete(threadId);
  }

  /** Tells everything that waits. @throws the first error, after all were tried; what failed waits again. */
  async flush(): Promise<void> {
    this.#running = this.#running.catch(() => undefined).then(() => this.#flush());
    await this.#running;
  }

  async #flush(): Promise<void> {
    const failures: unknown[] = [];
    const rest = [...this.#waiting.values()].values();
    this.#waiting.clear();
    // It would keep the process alive for nothing.
    this.#timer?.();
    this.#timer = undefined;
    const tellNext = async () => {
      for (const { member, snapshot } of rest) {
        try {
          await this.#tell(member, snapshot);
        } catch (error) {
          failures.push(error);
          this.#onError(error);
          if (StoreError.is(error) && error.retryable) this.soon(member, snapshot);
        }
      }
    };
    await Promise.all(Array.from({ length: TOLD_AT_ONCE }, tellNext));
    if (failures.length > 0) throw failures[0];
  }

  async #tell(member: Member<T, S>, told: S): Promise<void> {
    this.#remember(member.threadId);
    let snapshot = told;
    const attempt = async (lost: number) => {
      const gone = await this.#entries.tell(member, snapshot, this.#onError);
      const { left } = snapshot.listed;
      if (gone.length === 0) {
        if (left) await this.#entries.remove(member, placesOf({ in: left }));
        return;
      }
      const read = await ifReadable(member.read());
      if (read === "unreadable" || !read.listed) return;
      const isSame = gone.every((index) => read.listed.in[index] === snapshot.listed.in[index]);
      snapshot = (isSame && (await this.#adopt(member, read, gone, lost > 0))) || read;
      throw new StoreError(
        "CONFLICT",
        "other writers committed first; the list is told again with the next write",
      );
    };
    await retry(attempt, { ...RETRIES, clock: this.#clock });
  }

  /** Gives a thread new entries in the indexes where its own are gone. Resolves to undefined if it has changed meanwhile. */
  async #adopt(
    member: Member<T, S>,
    snapshot: S,
    gone: readonly string[],
    isRepeated: boolean,
  ): Promise<S | undefined> {
    // If this process's clock is more than a day slow, an entry of a day would be gone at once again.
    const made = await this.#entries.open(
      member,
      gone,
      snapshot.listed,
      isRepeated ? { lifeMs: MAX_SKEW_MS } : {},
    );
    const listed: Listed = { ...snapshot.listed, in: { ...snapshot.listed.in, ...made } };
    try {
      return await member.place(snapshot, listed);
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
      await this.#entries.remove(member, placesOf({ in: made }));
      return undefined;
    }
  }

  #remember(threadId: string): void {
    if (this.#seen.size >= MAX_SEEN) this.#seen.clear();
    this.#seen.add(threadId);
  }
}
