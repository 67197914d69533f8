import type { Call } from "./history.ts";
import type { FaultKind, Scope } from "./scope.ts";

type Change = Partial<Extract<Call, { kind: "commit" }>>;

const commit = (append: string, change: Change = {}): Call => ({ kind: "commit", append, ...change });
const drop = (count: number, append = ""): Call => commit(append, { drop: count });
const trim = (append: string, maxMessages: number): Call => commit(append, { maxMessages });
const turns = (append: string, maxMessages: number): Call =>
  commit(append, { maxMessages, trimming: "turns" });
const clear = commit("", { drop: "all" });
const remove: Call = { kind: "delete" };
const read: Call = { kind: "read" };

const MINUTE = 60_000;
const hour = { ttlMs: 60 * MINUTE };
/** At minute 118 the next commit raises the page, which may be swept from minute 130 on. */
const dueForRaise = [commit("abc", hour), 59 * MINUTE, commit("", hour), 59 * MINUTE];

const lost: readonly FaultKind[] = ["lost request", "lost reply"];
const every: readonly FaultKind[] = ["lost request", "lost reply", "late", "torn", "crash"];

/** Explored to the end by the unit tests. */
export const smallScopes: readonly Scope[] = [
  {
    name: "appends beside appends",
    processes: [[commit("abc"), commit("d")], [commit("xy")]],
    faults: lost,
    mostFaults: 1,
  },
  {
    name: "an append that loses its swap, and then its removal",
    before: [commit("abc")],
    processes: [[commit("def"), commit("g")]],
    faults: every,
    mostFaults: 2,
  },
  {
    name: "a drop beside an append",
    before: [commit("abc")],
    processes: [[drop(2, "d")], [commit("xyz")]],
    faults: lost,
    mostFaults: 1,
  },
  {
    name: "a clear beside an append",
    before: [commit("abc")],
    processes: [[clear, commit("d")], [commit("xyz")]],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "a deletion beside a deletion",
    before: [commit("abc")],
    processes: [[remove, commit("x")], [remove]],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "trims of a pinned message",
    before: [turns("Sabc", 5)],
    processes: [[turns("de", 3), turns("f", 3)], [turns("x", 3)]],
    faults: lost,
    mostFaults: 1,
  },
  {
    name: "a read beside a trim",
    before: [trim("abc", 3)],
    processes: [[trim("d", 3), trim("e", 2)], [read]],
    faults: ["late"],
    mostFaults: 1,
  },
  {
    name: "a raise beside a commit, and the time passes",
    before: dueForRaise,
    processes: [[commit("d", hour)], [commit("x", hour)]],
    jumps: [13 * MINUTE],
  },
  {
    name: "a raise to never, and the time passes",
    before: dueForRaise,
    processes: [[commit("d"), read]],
    jumps: [13 * MINUTE],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "from never to a time that passes",
    before: [commit("abc")],
    processes: [[commit("d", hour)], [read]],
    jumps: [180 * MINUTE],
  },
  {
    name: "an expired thread that is begun again",
    before: [commit("abc", hour), 61 * MINUTE],
    processes: [[commit("xyz", hour)], [commit("d")]],
    jumps: [70 * MINUTE],
  },
  {
    name: "clocks that differ",
    before: [commit("abc", hour), 58 * MINUTE],
    processes: [[commit("d", hour)], [commit("x", hour), read]],
    jumps: [4 * MINUTE],
    skews: [3 * MINUTE, -3 * MINUTE],
  },
  {
    name: "an append whose reply is lost, beside a deletion",
    processes: [[commit("x")], [read, remove, commit("y")]],
    faults: ["lost reply"],
    mostFaults: 1,
  },
];

/** Explored by the deep plan, with a number of executions at most. */
export const largeScopes: readonly Scope[] = [
  {
    name: "a deletion, and its head is swept",
    before: [commit("abc")],
    processes: [[remove], [commit("x")]],
    jumps: [11 * MINUTE],
    faults: ["lost reply", "crash"],
    mostFaults: 1,
  },
  {
    name: "a raise, and the time passes",
    before: dueForRaise,
    processes: [[commit("d", hour)], [read]],
    jumps: [13 * MINUTE],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "a deletion beside an append",
    before: [commit("abc")],
    processes: [[remove], [commit("xyz")]],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "a deletion beside a large append",
    before: [commit("abc")],
    processes: [[remove], [commit("xyz"), commit("v")]],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "drops beside drops",
    before: [commit("abcdef")],
    processes: [
      [drop(3, "ghi"), drop(1)],
      [drop(2, "xyz"), commit("v")],
    ],
    faults: every,
    mostFaults: 2,
  },
  {
    name: "three processes",
    before: [commit("abc")],
    processes: [[commit("def")], [drop(2)], [clear]],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "three processes and a deletion",
    before: [commit("abc")],
    processes: [[commit("def")], [commit("x")], [remove]],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "compare and set",
    before: [commit("abc")],
    processes: [[commit("de", { expectsKnown: true })], [commit("x", { drop: 1, expectsKnown: true }), read]],
    faults: every,
    mostFaults: 2,
  },
  {
    name: "trims and clears with pinned messages in heads",
    maxDocumentBytes: 1_400,
    before: [turns("Sabcd", 6)],
    processes: [
      [turns("efg", 4), clear],
      [turns("x", 3), read],
    ],
    faults: every,
    mostFaults: 1,
  },
  {
    name: "raises and deletions while time passes",
    before: dueForRaise,
    processes: [[commit("de", hour)], [remove, commit("xyz", hour)]],
    jumps: [13 * MINUTE, 130 * MINUTE],
    faults: every,
    mostFaults: 1,
    skews: [2 * MINUTE, -2 * MINUTE],
  },
];
