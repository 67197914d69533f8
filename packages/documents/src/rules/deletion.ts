import type { Head } from "../database.ts";
import { type Operation, Operations } from "./operations.ts";
import { NO_CONTENT } from "./pages.ts";
import { isAlive, KEPT_MS } from "./times.ts";

/**
 * What a deletion makes of a head, or of none: a dead one, which remembers the operations of the thread, and the deletion.
 *
 * @param ids of all pages that were stored before. No plan that was made before the deletion can be committed after it, so none is needed.
 */
export function deadHead(
  base: Head | null,
  {
    operation,
    now,
    incarnation,
    ids,
  }: { operation: Operation; now: number; incarnation: string; ids: readonly string[] },
): Head {
  const n = (base?.n ?? 0) + 1;
  const remembered = base && isAlive(base, now) ? base.operations : Operations.NONE;
  return {
    incarnation: base?.incarnation ?? incarnation,
    n,
    ...NO_CONTENT,
    operations: Operations.add(remembered, operation, n, now),
    former: base?.former,
    leaving: ids,
    createdAt: base?.createdAt ?? now,
    updatedAt: now,
    until: now + KEPT_MS,
    isDead: true,
  };
}
