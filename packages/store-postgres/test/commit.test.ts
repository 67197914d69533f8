import type { CommitRequest } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { commitArguments, commitOutcomeOf, expectedArgument, outcomeOf } from "../src/commit.ts";

const request: CommitRequest = {
  threadId: "t\0",
  operationId: "o\x1a",
  digest: "d",
  newIncarnation: "0123456789abcdef",
  expectedRevision: undefined,
  drop: 0,
  append: [],
  metadata: undefined,
  maxMessages: undefined,
  trimming: "turns",
  ttlMs: undefined,
  createdAt: 1,
  updatedAt: 2,
  signal: undefined,
};
const common = ["t\x1a0", "o\x1a2", "d", "0123456789abcdef"];

test("a commit without a change", () => {
  const nothing = [null, 0, null, "", null, null, null, false, null];
  expect(commitArguments(request)).toEqual([...common, ...nothing, 1, 2]);
});

test("a commit with all that it can have", () => {
  const all: CommitRequest = {
    ...request,
    expectedRevision: "a.1-b",
    drop: "all",
    append: [
      { kind: "u", createdAt: 1, text: '{"a":"\x1e"}' },
      { kind: "t", createdAt: 1, text: "\0" },
      { kind: "o", createdAt: 2, text: "x" },
    ],
    metadata: "m\0",
    maxMessages: Number.MAX_VALUE,
    trimming: "exact",
    ttlMs: 1.5,
  };
  const texts = '{"a":"\x1a1"}\x1e\x1a0\x1ex';
  const changed = ["a.1-b", -1, texts, "uto", "1,1,2", "m\x1a0", 2 ** 53, true, 1];
  expect(commitArguments(all)).toEqual([...common, ...changed, 1, 2]);
});

test("metadata that is removed, and a thread that must not exist, are empty texts", () => {
  const values = commitArguments({ ...request, metadata: null, expectedRevision: null });
  expect([values[4], values[9]]).toEqual(["", ""]);
  expect(expectedArgument(undefined)).toBeNull();
});

test.each(["committed", "repeated", "revision-conflict", "operation-conflict"] as const)(
  "the outcome %s has its revision",
  (outcome) => {
    expect(commitOutcomeOf(`${outcome} a.1-b`)).toEqual({ outcome, revision: "a.1-b" });
  },
);

test.each(["revision-conflict", "operation-conflict"] as const)(
  "the outcome %s can be without a thread",
  (outcome) => {
    expect(commitOutcomeOf(`${outcome} `)).toEqual({ outcome, revision: null });
  },
);

test.each(["committed ", "repeated", "deleted a.1-b", "", undefined, null, 7])(
  "another reply is an error: %j",
  (reply) => {
    expect(() => commitOutcomeOf(reply)).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
  },
);

test("the outcome of a deletion", () => {
  expect(outcomeOf("deleted ")).toEqual({ outcome: "deleted", revision: null });
  expect(outcomeOf("revision-conflict a.1-b")).toEqual({ outcome: "revision-conflict", revision: "a.1-b" });
});
