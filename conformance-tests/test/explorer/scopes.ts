import type { Call } from "./history.ts";
import type { Scope } from "./scope.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const commit = (letter: string, change: Partial<Extract<Call, { kind: "commit" }>> = {}): Call => ({
  kind: "commit",
  append: letter,
  ...change,
});
const remove: Call = { kind: "delete" };

/** Small scopes, each explored to the end by the unit tests. */
export const smallScopes: readonly Scope[] = [
  {
    name: "a deletion that is torn, and the rows expire",
    before: [commit("a"), commit("b"), commit("c")],
    processes: [[remove]],
    jumps: [37 * DAY],
    faults: ["torn"],
    mostFaults: 1,
  },
  {
    name: "a commit under way while the thread is deleted, and the rows expire",
    before: [commit("a"), commit("b")],
    processes: [[commit("c")], [remove]],
    jumps: [37 * DAY],
  },
  {
    name: "a raise beside a deletion, and later the rows expire",
    before: [commit("a", { ttlMs: 90 * DAY }), 89 * DAY, commit("b", { ttlMs: 90 * DAY }), 2 * DAY],
    processes: [[commit("c", { ttlMs: 90 * DAY, expectsKnown: true })], [remove]],
    jumps: [37 * DAY],
    areJumpsQuiet: true,
  },
  {
    name: "a raise beside a deletion, and the rows expire",
    before: [commit("a", { ttlMs: 90 * DAY }), 89 * DAY, commit("b", { ttlMs: 90 * DAY }), 2 * DAY],
    processes: [[commit("c", { ttlMs: 90 * DAY })], [remove]],
    jumps: [37 * DAY],
  },
];
