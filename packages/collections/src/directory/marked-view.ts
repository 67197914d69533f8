import type { Overlay } from "./directory-kind.ts";
import {
  applyNotes,
  type IncarnationState,
  isUnsure,
  keepsEntries,
  type MarkedEntry,
  type MarkedNote,
  type MarkedState,
  type MarkSemantics,
} from "./marked-notes.ts";
import type { MarkedPageRequest } from "./marked-options.ts";
import { keyText } from "./position.ts";
import type { Purged } from "./purge.ts";

/** A list closes older marks, because the process that wrote them has died. Writes end within 40 s of their mark. */
const DEAD_AFTER_MS = 300_000;

/** A note that repairs a directory, or a member to purge from it. */
export type Repair<V> =
  | { readonly note: MarkedNote<V>; readonly purge?: undefined }
  | { readonly purge: Purged; readonly note?: undefined };

/** The notes of a directory as one list sees them. */
export class MarkedView<V> implements Overlay<MarkedEntry<V>> {
  readonly #state: MarkedState<V>;
  readonly #now: number;
  readonly #unsure = new Set<string>();
  readonly placed: MarkedEntry<V>[] = [];

  constructor(notes: readonly MarkedNote<V>[], semantics: MarkSemantics, now: number) {
    this.#state = applyNotes(notes, semantics);
    this.#now = now;
    for (const [key, incarnations] of this.#state) {
      if (isUnsure(incarnations)) this.#unsure.add(key);
      else for (const { entry } of incarnations.values()) if (entry) this.placed.push(entry);
    }
  }

  /**
   * Reads the members whose entries cannot be trusted, all at once.
   *
   * @returns the repairs of the unfinished work of dead processes.
   */
  async read(read: MarkedPageRequest<V>["read"]): Promise<Repair<V>[]> {
    const repairs = [...this.#unsure].map(async (text) => {
      const incarnations = [...(this.#state.get(text)?.values() ?? [])];
      const [first] = incarnations;
      if (!first) return [];
      const member = await read(first.key);
      if (member === "unreadable") {
        this.#unsure.delete(text);
        for (const { entry } of incarnations) if (entry) this.placed.push(entry);
        return [];
      }
      if (member) this.placed.push({ ...member, key: first.key });
      return incarnations.flatMap((one) => this.#repair(one, member));
    });
    return (await Promise.all(repairs)).flat();
  }

  /** Whether there are members that must be read: a write may be running, or two incarnations are noted. */
  get isUnsure(): boolean {
    return this.#unsure.size > 0;
  }

  keeps(entry: MarkedEntry<V>): boolean {
    const text = keyText(entry);
    return !this.#unsure.has(text) && keepsEntries(this.#state.get(text));
  }

  isExpired({ expiresAt }: MarkedEntry<V>): boolean {
    return expiresAt !== undefined && expiresAt <= this.#now;
  }

  /** Whether an entry has expired long ago by any clock. */
  isEnded({ expiresAt }: MarkedEntry<V>): boolean {
    return expiresAt !== undefined && expiresAt <= this.#now - DEAD_AFTER_MS;
  }

  #repair(
    { key, incarnation, marks, entry }: IncarnationState<V>,
    member: Omit<MarkedEntry<V>, "key"> | undefined,
  ): Repair<V>[] {
    const dead = [...marks.values()].filter(({ at }) => this.#now - at > DEAD_AFTER_MS);
    const closes = dead.map(({ token }) => token);
    if (member?.incarnation === incarnation) {
      if (dead.length === 0) return [];
      const { incarnation: _same, ...now } = member;
      return [{ note: { key, incarnation, entry: now, proof: closes, closes, isLost: true } }];
    }
    // An entry proves that the incarnation existed, so it has ended. Without an entry it may be under creation.
    if (entry) return [{ purge: { key, incarnation, orders: [entry.order] } }];
    return dead.length > 0 && dead.length === marks.size
      ? [{ purge: { key, incarnation, orders: [], deadMarks: closes } }]
      : [];
  }
}
