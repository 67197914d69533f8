import type { CommitRequest } from "@scrollback/store-core/driver";
import { SimulationFailure } from "./failure.ts";
import { HOUR } from "./network.ts";
import type { StoredRow } from "./simulated-call.ts";

/** A freed key is deleted 48 h later, by a clock that may be 24 h ahead of the writer's. */
const LONGEST_REQUEST_MS = 20 * HOUR;

/** The keys of a thread that were freed and are deleted. */
export class FreedKeys {
  /** By number: the incarnation that freed it. The rows of a later incarnation may begin at any number. */
  readonly #incarnations = new Map<number, string | undefined>();

  onDelete({ number, head, isFreed }: StoredRow): void {
    if (isFreed) this.#incarnations.set(number, head?.incarnation);
  }

  /**
   * A freed key stays taken while an insert is under way, unless that takes days. A block commits nothing: it may
   * take the first key of an expired thread of which only the root exists.
   */
  check({ number, head, origin }: StoredRow, now: number): void {
    const age = now - (origin?.sentAt ?? 0);
    const isFreed = head !== undefined && this.#incarnations.get(number) === head.incarnation;
    if (isFreed && !head.closed && age < LONGEST_REQUEST_MS)
      throw new SimulationFailure(
        "freed keys",
        `key ${number} was free again for an insert that was under way for ${age} ms`,
      );
  }
}

/** The newest expiry of an incarnation, computed from its ttl. */
export class Expiries {
  readonly #times = new Map<number | undefined, number>();

  /** @param isFirst whether the commit is the first of its incarnation. */
  check({ ttlMs }: Pick<CommitRequest, "ttlMs">, expiresAt: number | undefined, isFirst: boolean): void {
    if (isFirst) this.#times.clear();
    if (expiresAt === undefined) return;
    const earlier = this.#times.get(ttlMs) ?? 0;
    if (expiresAt < earlier)
      throw new SimulationFailure(
        "expiry",
        `a commit expires at ${expiresAt}, an earlier one with the same ttl at ${earlier}`,
      );
    this.#times.set(ttlMs, expiresAt);
  }
}
