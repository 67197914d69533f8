import type { Call } from "./history.ts";
import type { FaultKind, Scope } from "./scope.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

type Change = Partial<Extract<Call, { kind: "commit" }>>;

const commit = (append: string, change: Change = {}): Call => ({ kind: "commit", append, ...change });
const remove: Call = { kind: "delete" };
const read: Call = { kind: "read" };
/** The time after which the rows of a deleted thread, its roots and its closing row have expired. */
const released = 37 * DAY;
const quarter = { ttlMs: 90 * DAY };
/** A thread of which the next commit promises a later expiry. */
const dueForRaise = [commit("a", quarter), 89 * DAY, commit("b", quarter), 2 * DAY];
const everyFault: readonly FaultKind[] = [
  ...(["lost request", "lost reply", "slow reply", "doubled", "crash", "torn"] as const),
];

/** Explored to the end by the unit tests. Each has shown a fault of the record log, see the mutants. */
export const smallScopes: readonly Scope[] = [
  {
    name: "a torn deletion, and the rows expire",
    before: [commit("a"), commit("b"), commit("c")],
    processes: [[remove]],
    jumps: [released],
    faults: ["torn"],
    mostFaults: 1,
  },
  {
    name: "a commit under way while the thread is deleted, and the rows expire",
    before: [commit("a")],
    processes: [[commit("b")], [remove]],
    jumps: [released],
    jumpsAfter: [1],
    mostFree: 4,
  },
  {
    name: "a raise beside a deletion, and the rows expire",
    before: dueForRaise,
    processes: [[commit("c", { ...quarter, expectsKnown: true })], [remove]],
    jumps: [released],
    jumpsAfter: [0, 1],
    mostFree: 2,
  },
  {
    name: "a raise under way while the thread is deleted, and the rows expire",
    before: [commit("a", { ttlMs: DAY })],
    processes: [[commit("b", { ...quarter, expectsKnown: true })], [remove]],
    jumps: [released],
    jumpsAfter: [1],
    mostFree: 2,
  },
  {
    name: "two writers of a new thread, and a lost reply",
    before: [],
    processes: [[commit("a")], [commit("b")]],
    faults: ["lost reply"],
    mostFaults: 1,
  },
];

const writes: readonly Call[] = [
  commit("x"),
  commit("y", { drop: "all" }),
  { kind: "commit", drop: 1 },
  commit("z", { maxMessages: 1 }),
  remove,
];
const calls = [...writes, read];
const threads: Readonly<Record<string, Scope["before"]>> = {
  "a new thread": [],
  "a short thread": [commit("a"), commit("b")],
};

function wordsOf(program: readonly Call[]): string {
  return program
    .map((call) => {
      if (call.kind !== "commit") return call.kind;
      const { append = "", drop = 0, maxMessages, ttlMs } = call;
      const limits = `${maxMessages ? ` keep ${maxMessages}` : ""}${ttlMs ? ` for ${ttlMs / DAY} d` : ""}`;
      return `${drop ? `drop ${drop} ` : ""}${append}${limits}`;
    })
    .join(", ");
}

function named(family: string, scope: Omit<Scope, "name">, thread = ""): Scope {
  return { ...scope, name: `${family}, ${thread}: ${scope.processes.map(wordsOf).join(" | ")}` };
}

/** Every choice of `count` elements, in any order. */
function choices<T>(from: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  return from.flatMap((one, index) => choices(from.slice(index), count - 1).map((rest) => [one, ...rest]));
}

function each(make: (thread: string, before: Scope["before"]) => readonly Scope[]): Scope[] {
  return Object.entries(threads).flatMap(([thread, before]) => make(thread, before));
}

const fewWrites = writes.filter((call) => call.kind !== "commit" || call.maxMessages === undefined);
const twoCalls = fewWrites.flatMap((first) => fewWrites.map((second) => [first, second]));

/** By family: larger scopes, for the deep plan. */
export const families: Readonly<Record<string, readonly Scope[]>> = {
  "2 x 2 without faults": each((thread, before) =>
    choices(twoCalls, 2).map((processes) => named("2 x 2", { before, processes }, thread)),
  ),
  "2 x 1 with two faults": each((thread, before) =>
    choices(calls, 2).map(([one, other]) =>
      named(
        "2 x 1",
        {
          before,
          processes: [[one as Call], [other as Call]],
          ...{ faults: everyFault, mostFaults: 2, mostFree: 3 },
        },
        thread,
      ),
    ),
  ),
  "3 x 1 with a fault": each((thread, before) =>
    choices(writes, 3).map((three) =>
      named(
        "3 x 1",
        {
          before,
          processes: three.map((call) => [call]),
          ...{ faults: ["lost reply", "crash", "torn"], mostFaults: 1, mostFree: 2 },
        },
        thread,
      ),
    ),
  ),
  "a deletion with faults, and time": [3 * DAY, released].flatMap((jump) =>
    [commit("x"), commit("x", { ttlMs: HOUR }), commit("x", quarter), remove].map((call) =>
      named(
        `${jump / DAY} days`,
        {
          before: [commit("a"), commit("b")],
          processes: [[call], [remove]],
          ...{ jumps: [jump], jumpsAfter: [0, 1], mostDeletions: 2 },
          ...{ faults: everyFault, mostFaults: 1, mostFree: 5 },
        },
        "a thread without expiry",
      ),
    ),
  ),
  "an expiring thread, a raise, a deletion, and time": [3 * DAY, 10 * DAY, released].flatMap((jump) =>
    [commit("x", { ttlMs: HOUR }), commit("x", quarter), remove].map((call) =>
      named(
        `${jump / DAY} days`,
        {
          before: [commit("a", { ttlMs: DAY }), HOUR, commit("b", { ttlMs: DAY })],
          processes: [[call], [remove]],
          ...{ jumps: [jump], jumpsAfter: [0, 1], mostDeletions: 2 },
          ...{ faults: everyFault, mostFaults: 1, mostFree: 5 },
        },
        "a thread of a day",
      ),
    ),
  ),
  "writes under way while time passes": [3 * DAY, released].flatMap((jump) =>
    choices([commit("x"), commit("x", quarter), remove], 2).flatMap(([one, other]) =>
      (
        [
          ["a thread without expiry", [commit("a"), commit("b")]],
          ["a thread of a day", [commit("a", { ttlMs: DAY })]],
          ["a thread that is due for a raise", dueForRaise],
        ] as const
      ).map(([thread, before]) =>
        named(
          `${jump / DAY} days`,
          {
            before,
            processes: [[one as Call], [other as Call]],
            ...{ jumps: [jump], jumpsAfter: [1], mostFree: 4 },
          },
          thread,
        ),
      ),
    ),
  ),
  "a raise that comes twice, beside a deletion": [
    named(
      "37 days",
      {
        before: dueForRaise,
        processes: [[commit("x", quarter)], [remove]],
        ...{ jumps: [2 * DAY, released], jumpsAfter: [1], faults: ["doubled"], mostFaults: 1, mostFree: 1 },
      },
      "a thread that is due for a raise",
    ),
  ],
  "clocks that differ at the expiry": [-12 * HOUR, 12 * HOUR].flatMap((skew) =>
    choices([commit("x", { ttlMs: 2 * DAY }), commit("y", quarter), remove, read], 2).map(([one, other]) =>
      named(
        `${skew / HOUR} h`,
        {
          before: [commit("a", { ttlMs: 2 * DAY })],
          processes: [[one as Call], [other as Call, commit("z", { ttlMs: 2 * DAY, after: 1 })]],
          ...{ jumps: [44 * HOUR], skews: [skew, -skew], mostFree: 2 },
        },
        "a thread of 2 days",
      ),
    ),
  ),
};
