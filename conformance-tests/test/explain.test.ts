// Exceeds 300 lines because it holds two tables: histories that are explained, and histories that are not.
import { REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { explain } from "../src/observed/explain.ts";
import type {
  Action,
  Observation,
  ObservedChange,
  ObservedThread,
  Outcome,
} from "../src/observed/observation.ts";

const thread: ObservedThread = { threadId: "thread" };
const rev = (number: number, incarnation = "e") => `${incarnation}.${number}`;

/** A history made by hand; times are milliseconds. */
class History {
  readonly #observations: Observation[] = [];
  #calls = 0;

  call(from: number, to: number, action: Action, outcome: Outcome): this {
    this.#calls += 1;
    const client = `client ${this.#calls}`;
    const times = { called: from * 1_000, returned: to * 1_000 };
    this.#observations.push({ client, thread: "thread", action, outcome, ...times });
    return this;
  }

  commit(
    from: number,
    to: number,
    change: Partial<ObservedChange>,
    revision: string | Outcome,
    how: { id?: string; expected?: string | null } = {},
  ): this {
    const { id = `operation ${this.#calls}`, ...expected } = how;
    const whole = { drop: 0, append: [], ...change };
    const action: Action = { kind: "commit", operationId: id, change: whole, ...expected };
    return this.call(
      from,
      to,
      action,
      typeof revision === "string" ? { kind: "committed", revision } : revision,
    );
  }

  add(from: number, to: number, text: string, revision: string | Outcome): this {
    return this.commit(from, to, { append: [text] }, revision);
  }

  read(from: number, to: number, revision: string | null, texts: readonly string[], more: object = {}): this {
    const entries = texts.map((text, index) => [index + 1, text] as const);
    return this.call(
      from,
      to,
      { kind: "read" },
      { kind: "page", revision, entries, metadata: null, older: false, ...more },
    );
  }

  pop(from: number, to: number, text: string | null): this {
    return this.call(from, to, { kind: "pop" }, { kind: "popped", text });
  }

  list(from: number, to: number, ...texts: string[]): this {
    return this.call(from, to, { kind: "list" }, { kind: "texts", texts });
  }

  explained(settings: ObservedThread = thread): string[] {
    return explain(this.#observations, settings).map((problem) => problem.split(":")[0] ?? "");
  }
}

const unknown: Outcome = { kind: "unknown", code: "UNAVAILABLE" };
const conflict: Outcome = { kind: "refused", code: "CONFLICT" };
const never = Number.POSITIVE_INFINITY;
const history = () => new History();

describe("a valid history", () => {
  test.each<[string, History, ObservedThread?]>([
    ["nothing at all", history()],
    ["one client", history().add(0, 1, "ua", rev(1)).read(2, 3, rev(1), ["ua"]).list(4, 5, "ua")],
    [
      "commits at once, in either order",
      history().add(0, 9, "ua", rev(2)).add(0, 9, "ub", rev(1)).read(10, 11, rev(2), ["ub", "ua"]),
    ],
    [
      "a read beside a commit, before it or after it",
      history()
        .add(0, 1, "ua", rev(1))
        .add(2, 9, "ub", rev(2))
        .read(3, 4, rev(1), ["ua"])
        .read(3, 4, rev(2), ["ua", "ub"]),
    ],
    ["an unknown commit that happened", history().add(0, never, "ua", unknown).read(5, 6, rev(1), ["ua"])],
    [
      "an unknown commit that happened late",
      history()
        .add(0, never, "ua", unknown)
        .read(5, 6, null, [])
        .add(7, 8, "ub", rev(1))
        .read(9, 10, rev(2), ["ub", "ua"]),
    ],
    [
      "an unknown commit that never happened",
      history()
        .add(0, never, "ua", unknown)
        .read(5, 6, null, [])
        .add(7, 8, "ub", rev(1))
        .read(9, 10, rev(1), ["ub"]),
    ],
    [
      "unknown commits in the one order that fits",
      history()
        .add(0, never, "ua", unknown)
        .add(0, never, "ub", unknown)
        .commit(0, never, { drop: 1 }, unknown)
        .read(5, 6, rev(3), ["ub"]),
    ],
    [
      "a retry that returns the first outcome",
      history()
        .commit(0, 1, { append: ["ua"] }, unknown, { id: "o" })
        .commit(2, 3, { append: ["ua"] }, rev(1), { id: "o" })
        .commit(4, 5, { append: ["ua"] }, rev(1), { id: "o" })
        .read(6, 7, rev(1), ["ua"]),
    ],
    [
      "a pop with an unreported revision",
      history().add(0, 1, "ua", rev(1)).pop(2, 3, "ua").pop(4, 5, null).read(6, 7, rev(2), []),
    ],
    [
      "a conflict of two writers",
      history()
        .add(0, 1, "ua", rev(1))
        .commit(2, 9, { append: ["ub"] }, rev(2), { expected: rev(1) })
        .commit(2, 9, { append: ["uc"] }, conflict, { expected: rev(1) }),
    ],
    [
      "a conflict over an operation id",
      history()
        .commit(0, 1, { append: ["ua"] }, rev(1), { id: "o" })
        .commit(2, 3, { append: ["ub"] }, conflict, { id: "o" }),
    ],
    [
      "exact trimming",
      history()
        .commit(0, 1, { append: ["ua", "ub", "uc"] }, rev(1))
        .read(2, 3, rev(1), ["ub", "uc"]),
      { threadId: "thread", maxMessages: 2, trimming: "exact" },
    ],
    [
      "trimming by turns",
      history()
        .commit(0, 1, { append: ["sa", "ub", "tc", "ud"] }, rev(1))
        .read(2, 3, rev(1), ["sa", "ud"]),
      { threadId: "thread", maxMessages: 3 },
    ],
    [
      "an expiry",
      history()
        .add(0, 1, "ua", rev(1))
        .read(50, 51, rev(1), ["ua"])
        .read(200, 201, null, [])
        .add(210, 211, "ub", rev(1, "f")),
      { threadId: "thread", ttlMs: 100 },
    ],
    [
      "an operation whose id expired with the thread before the retry",
      history()
        .commit(0, 500, { append: ["ua"] }, rev(1, "f"), { id: "o" })
        .read(10, 11, rev(1), ["ua"])
        .read(300, 301, null, []),
      { threadId: "thread", ttlMs: 100 },
    ],
    [
      "an unknown commit beside an equal one that expected a missing thread",
      history()
        .commit(0, never, { drop: "all" }, unknown, { expected: null })
        .add(1, 2, "ua", rev(1))
        .commit(3, never, { drop: "all" }, unknown)
        .add(4, 5, "ub", rev(3))
        .read(6, 7, rev(3), ["ub"]),
    ],
    [
      "a list of messages that expired before their commit's reply arrived",
      history()
        .add(0, 300, "ua", rev(1))
        .list(50, 51, "ua")
        .read(250, 310, null, [])
        .read(320, 321, null, []),
      { threadId: "thread", ttlMs: 100 },
    ],
    [
      "a commit whose reply arrived after the thread had expired and was created again",
      history()
        .add(0, 3_000, "ua", rev(1, "e"))
        .add(1_500, 1_510, "ub", rev(1, "f"))
        .add(2_300, 2_310, "uc", rev(2, "f"))
        .add(2_990, 2_995, "ud", rev(3, "f")),
      { threadId: "thread", ttlMs: 1_000 },
    ],
    [
      "a read that found a thread expired during a commit that continued the thread",
      history().add(0, 1, "ua", rev(1)).add(95, 190, "ub", rev(2)).read(170, 180, null, []),
      { threadId: "thread", ttlMs: 100 },
    ],
    [
      "a conflict with a commit that expired before any read",
      history()
        .commit(0, never, { append: ["ua"] }, unknown)
        .commit(10, 11, { append: ["ub"] }, conflict, { expected: null })
        .read(300, 301, null, []),
      { threadId: "thread", ttlMs: 100 },
    ],
    ["an applied commit that was denied when retried too late", denied(REMEMBERED_OPERATIONS + 2)],
    [
      "an applied commit that was denied when retried after the thread had expired",
      denied(3).read(5_001, 5_002, null, []),
      { threadId: "thread", ttlMs: 4_000 },
    ],
    ["an operation whose id was forgotten before the retry", forgotten(REMEMBERED_OPERATIONS + 1)],
  ])("%s", (_, made, settings) => {
    expect(made.explained(settings)).toEqual([]);
  });
});

/** A commit that is sent again after this number of other commits and counts again. */
function forgotten(others: number): History {
  const made = history().commit(0, 1, { append: ["ua"] }, rev(1), { id: "o" });
  for (let number = 2; number <= others; number++) made.add(number, number + 0.5, `u${number}`, rev(number));
  return made.commit(1_000, 1_001, { append: ["ua"] }, rev(others + 1), { id: "o" });
}

/** A commit whose reply was lost, and that got a conflict when it was sent again after this number of other commits. */
function denied(others: number): History {
  const made = history().commit(0, 5_000, { append: ["ua"] }, conflict, { expected: null });
  for (let number = 2; number <= others; number++) made.add(number, number + 0.5, `u${number}`, rev(number));
  return made.read(0.1, 0.2, rev(1), ["ua"]);
}

describe("an invalid history is detected", () => {
  test.each<[string, string, History, ObservedThread?]>([
    ["a commit ordered after a later one", "C1", history().add(0, 1, "ua", rev(2)).add(2, 3, "ub", rev(1))],
    [
      "decreasing sequence numbers",
      "C1",
      history()
        .commit(0, 1, { append: ["ua", "ub"] }, rev(1))
        .read(2, 3, rev(1), [], {
          entries: [
            [2, "ua"],
            [1, "ub"],
          ],
        }),
    ],
    [
      "half a batch",
      "C2",
      history()
        .commit(0, 1, { append: ["ua", "ub"] }, rev(1))
        .read(2, 3, rev(1), ["ua"]),
    ],
    [
      "a mix of two revisions",
      "C2",
      history()
        .add(0, 1, "ua", rev(1))
        .commit(2, 9, { drop: "all", append: ["ub"] }, rev(2))
        .read(3, 8, rev(2), ["ua", "ub"]),
    ],
    [
      "a list that never matched the thread",
      "C2",
      history()
        .add(0, 1, "ua", rev(1))
        .commit(2, 3, { drop: "all", append: ["ub"] }, rev(2))
        .list(4, 5, "ua"),
    ],
    [
      "a stale read",
      "C3",
      history().add(0, 1, "ua", rev(1)).add(2, 3, "ub", rev(2)).read(4, 5, rev(1), ["ua"]),
    ],
    ["an empty read of an existing thread", "C3", history().add(0, 1, "ua", rev(1)).read(2, 3, null, [])],
    [
      "lists that go back in time",
      "C3",
      history().add(0, 1, "ua", rev(1)).add(2, 9, "ub", rev(2)).list(3, 4, "ua", "ub").list(5, 6, "ua"),
    ],
    [
      "a doubled commit",
      "C4",
      history().add(0, 1, "ua", rev(1)).add(0, 9, "ub", unknown).read(10, 11, rev(2), ["ua", "ua"]),
    ],
    [
      "a retry that was applied again",
      "C4",
      history()
        .commit(0, 1, { append: ["ua"] }, rev(1), { id: "o" })
        .commit(2, 3, { append: ["ua"] }, rev(2), { id: "o" }),
    ],
    ["a retry that was applied again too soon", "C4", forgotten(REMEMBERED_OPERATIONS)],
    [
      "a used operation id that accepted another change",
      "C4",
      history()
        .commit(0, 1, { append: ["ua"] }, rev(1), { id: "o" })
        .commit(2, 3, { append: ["ub"] }, rev(2), { id: "o" }),
    ],
    ["a revision returned by two commits", "C5", history().add(0, 9, "ua", rev(1)).add(0, 9, "ub", rev(1))],
    [
      "two winners of one revision",
      "C5",
      history()
        .add(0, 1, "ua", rev(1))
        .commit(2, 9, { append: ["ub"] }, rev(2), { expected: rev(1) })
        .commit(2, 9, { append: ["uc"] }, rev(3), { expected: rev(1) }),
    ],
    [
      "a conflict without another writer",
      "C5",
      history()
        .add(0, 1, "ua", rev(1))
        .commit(2, 3, { append: ["ub"] }, conflict, { expected: rev(1) })
        .read(4, 5, rev(1), ["ua"]),
    ],
    [
      "a message popped twice",
      "C5",
      history().add(0, 1, "ua", rev(1)).pop(2, 3, "ua").pop(2, 3, "ua").read(4, 5, rev(2), []),
    ],
    [
      "a pop that left its message",
      "C5",
      history().add(0, 1, "ua", rev(1)).pop(2, 3, "ua").read(4, 5, rev(1), ["ua"]),
    ],
    [
      "more messages than maxMessages",
      "C6",
      history()
        .commit(0, 1, { append: ["ua", "ub"] }, rev(1))
        .read(2, 3, rev(1), ["ua", "ub"]),
      { threadId: "thread", maxMessages: 1 },
    ],
    [
      "a message that changes its number",
      "C7",
      history()
        .add(0, 1, "ua", rev(1))
        .read(2, 3, rev(1), ["ua"])
        .add(4, 5, "ub", rev(2))
        .read(6, 7, rev(2), [], {
          entries: [
            [2, "ua"],
            [3, "ub"],
          ],
        }),
    ],
    [
      "a page without a cursor to existing messages",
      "C7",
      history()
        .add(0, 1, "ua", rev(1))
        .call(
          2,
          3,
          { kind: "read", limit: 0 },
          { kind: "page", revision: rev(1), entries: [], metadata: null, older: false },
        ),
    ],
    [
      "a thread that expired too early",
      "C11",
      history().add(0, 1, "ua", rev(1)).read(10, 11, null, []),
      { threadId: "thread", ttlMs: 1_000 },
    ],
    [
      "a read that found a thread expired before the start of a commit that continued it",
      "C1",
      history().add(0, 1, "ua", rev(1)).read(170, 180, null, []).add(181, 190, "ub", rev(2)),
      { threadId: "thread", ttlMs: 100 },
    ],
    [
      "a read that found a thread expired after a commit that continued it",
      "C11",
      history().add(0, 1, "ua", rev(1)).add(95, 165, "ub", rev(2)).read(170, 180, null, []),
      { threadId: "thread", ttlMs: 1_000 },
    ],
    [
      "a thread that expired too late",
      "C11",
      history().add(0, 1, "ua", rev(1)).read(1_000, 1_001, rev(1), ["ua"]),
      { threadId: "thread", ttlMs: 100 },
    ],
    [
      "an expiry that a write did not renew",
      "C11",
      history().add(0, 1, "ua", rev(1)).add(900, 901, "ub", rev(2)).read(1_100, 1_101, null, []),
      { threadId: "thread", ttlMs: 1_000 },
    ],
    ["a refusal without a reason", "C13", history().add(0, 1, "ua", { kind: "refused", code: "CORRUPT" })],
    [
      "a lost commit",
      "C17",
      history().add(0, 1, "ua", rev(1)).add(2, 3, "ub", rev(3)).read(4, 5, rev(3), ["ua", "ub"]),
    ],
    ["an applied commit that was denied under a remembered id", "C17", denied(60)],
    [
      "an applied commit that was denied before the thread had expired",
      "C17",
      denied(3).read(7_000, 7_001, null, []),
      { threadId: "thread", ttlMs: 6_000 },
    ],
    [
      "a refused commit that was applied",
      "C17",
      history()
        .add(0, 1, "ua", rev(1))
        .commit(2, 3, { append: ["ub"] }, conflict, { expected: rev(9) })
        .read(4, 5, rev(2), ["ua", "ub"]),
    ],
    [
      "metadata of another revision",
      "C18",
      history()
        .commit(0, 1, { metadata: "a" }, rev(1))
        .commit(2, 3, { metadata: "b" }, rev(2))
        .read(4, 5, rev(2), [], { metadata: "a" }),
    ],
  ])("%s, by %s", (_, clause, made, settings) => {
    expect(made.explained(settings)).toContain(clause);
  });
});

test("the time to explain many unknown outcomes grows linearly with the history", () => {
  const microseconds = (commits: number) => {
    const made = history();
    const texts: string[] = [];
    for (let number = 1; number <= commits; number++) {
      const isUnknown = number % 5 === 0;
      made.add(number, isUnknown ? never : number + 0.5, `u${number}`, isUnknown ? unknown : rev(number));
      texts.push(`u${number}`);
      const entries = texts.map((text, index) => [index + 1, text]).slice(-20);
      made.read(number + 0.6, number + 0.7, rev(number), [], { entries });
    }
    const before = process.cpuUsage();
    expect(made.explained({ threadId: "thread", maxMessages: 20, trimming: "exact" })).toEqual([]);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  // Processor time, because other processes use the machine too. At most quadratic: 16 times for four times the history.
  const fastest = (commits: number) => Math.min(...Array.from({ length: 3 }, () => microseconds(commits)));
  microseconds(100);
  expect(fastest(2_000) / fastest(500)).toBeLessThan(32);
});
