import { expect, test } from "vitest";
import { explore, type Scope } from "./explorer/explore.ts";

/** More than a transaction has: a page. */
const many = (name: string) => Array.from({ length: 93 }, (_, index) => `${name}${index}`);
const lost = { lost: 1 };
const late = { late: 1 };
const crashed = { crashed: 1 };

const scopes: Record<string, Scope> = {
  "appends and a read, a reply lost": {
    processes: [
      [{ append: ["a"] }, { append: ["b"] }],
      [{ append: ["c"] }, "read"],
    ],
    faults: lost,
  },
  "appends, a request late": {
    processes: [[{ append: ["a"] }, { append: ["b"] }], [{ append: ["c"] }]],
    faults: late,
  },
  "a drop that is written over, a reply lost": {
    before: [{ append: ["1", "2", "3"] }],
    processes: [
      [{ drop: 1, append: ["a"] }, { drop: 1 }],
      [{ append: ["b"] }, "read"],
    ],
    faults: lost,
  },
  "trimming, a request late": {
    before: [{ append: ["1", "2", "3"] }],
    processes: [[{ append: ["a"], maxMessages: 3 }, "read"], [{ append: ["b"], maxMessages: 2 }]],
    faults: late,
  },
  "pages of two writers, a reply lost": {
    processes: [[{ append: many("a") }], [{ append: many("b") }, "read"]],
    faults: lost,
  },
  "pages of two writers, a request late": {
    processes: [[{ append: many("a") }], [{ append: many("b") }]],
    faults: late,
  },
  "a page and a deletion, a request late": {
    before: [{ append: ["1"] }],
    processes: [[{ append: many("a") }], ["delete"]],
    faults: late,
  },
  "a clear of many and an append, a reply lost": {
    before: [{ append: many("1") }, { append: ["x"] }],
    processes: [[{ drop: "all" }, { append: ["a"] }], [{ append: ["b"] }]],
    faults: lost,
  },
  "a drop of many and an append, a request late": {
    before: [{ append: many("1") }, { append: many("2") }],
    processes: [[{ drop: 100, append: ["a"] }], [{ append: ["b"] }]],
    faults: late,
  },
  "a drop of many that is written over by as many, a reply lost": {
    before: [{ append: many("1") }, { append: many("2") }],
    processes: [[{ drop: 100, append: many("a") }], [{ append: ["b"] }, "read"]],
    faults: lost,
  },
  "a deletion and appends, a reply lost": {
    before: [{ append: ["1", "2"] }],
    processes: [
      ["delete", { append: ["a"] }],
      [{ append: ["b"] }, "read"],
    ],
    faults: lost,
  },
  "two deletions and an append, a request late": {
    before: [{ append: ["1", "2"] }],
    processes: [["delete"], ["delete", { append: ["b"] }]],
    faults: late,
  },
  "an expiry that is set and removed, a reply lost": {
    before: [{ append: ["1", "2"] }],
    processes: [[{ append: ["a"], ttlMs: 1_000 }], [{ append: ["b"] }, "read"]],
    faults: lost,
  },
  "a process that dies in a clear": {
    before: [{ append: many("1") }],
    processes: [[{ drop: "all" }], [{ append: ["b"] }, "read"]],
    faults: crashed,
  },
};

const most = process.env.SCROLLBACK_DEEP === "1" ? 14_000 : 400;

test.each(Object.entries(scopes))(
  "%s: one order explains all reads, and nothing else is at rest",
  async (name, scope) => {
    const { runs, isExhausted } = await explore(scope, most);
    console.log(`${name}: ${runs} runs${isExhausted ? ", all" : ""}`);
    expect(runs).toBeGreaterThan(10);
  },
  600_000,
);
