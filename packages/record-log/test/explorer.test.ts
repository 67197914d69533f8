import { describe, expect, test } from "vitest";
import { explore } from "./explorer/explore.ts";
import { type Call, type Event, isLinearizable } from "./explorer/history.ts";
import { smallScopes } from "./explorer/scopes.ts";

test.each(smallScopes)("every order of $name keeps the promises", async (scope) => {
  const { found, isComplete } = await explore(scope);
  expect(found).toBeUndefined();
  expect(isComplete).toBe(true);
});

describe("calls took effect one after the other", () => {
  const DAY = 86_400_000;
  const append = (letter: string, ttlMs?: number): Call => ({
    kind: "commit",
    append: letter,
    ...(ttlMs && { ttlMs }),
  });
  const seen = (revision: string | null, ...texts: string[]) => ({ kind: "seen", revision, texts }) as const;
  /** A call from one position to another, which are also its times. */
  const event = (call: Call, [begin, end]: readonly [number, number], result?: Event["result"]): Event => {
    const ended = { end, endWall: end, ...(result && { result }) };
    return { call, begin, beginWall: begin, ...ended };
  };
  const committed = (revision: string) => ({ kind: "committed", revision }) as const;
  const first = event(append("a"), [0, 1], committed("i.1"));

  test("if they overlap, in any order", () => {
    const others = [
      event(append("b"), [2, 5], committed("i.2")),
      event({ kind: "read" }, [3, 4], seen("i.1", "a")),
    ];
    expect(isLinearizable([first, ...others], 0)).toBe(true);
  });

  test("unless a read that began later does not see a commit", () => {
    const others = [
      event(append("b"), [2, 3], committed("i.2")),
      event({ kind: "read" }, [4, 5], seen("i.1", "a")),
    ];
    expect(isLinearizable([first, ...others], 0)).toBe(false);
  });

  test("with or without a call whose outcome is unknown", () => {
    const unknown = event(append("b"), [2, Number.POSITIVE_INFINITY]);
    for (const view of [seen("i.1", "a"), seen("i.2", "a", "b")])
      expect(isLinearizable([first, unknown, event({ kind: "read" }, [3, 4], view)], 0)).toBe(true);
    const twice = event({ kind: "read" }, [3, 4], seen("i.3", "a", "b", "b"));
    expect(isLinearizable([first, unknown, twice], 0)).toBe(false);
  });

  test("unless a deleted thread, or one of its revisions, is back", () => {
    const deleted = event({ kind: "delete" }, [2, 3], { kind: "deleted" });
    const back = event({ kind: "read" }, [4, 5], seen("i.1", "a"));
    expect(isLinearizable([first, deleted, back], 0)).toBe(false);
    const again = (revision: string) => event(append("b"), [4, 5], committed(revision));
    expect(isLinearizable([first, deleted, again("i.1")], 0)).toBe(false);
    expect(isLinearizable([first, deleted, again("j.1")], 0)).toBe(true);
  });

  test("unless a thread is read after its expiry, or not read before", () => {
    const expiring = event(append("a", DAY), [0, 1], committed("i.1"));
    const read = (at: number, view: Event["result"], skew = 0) =>
      isLinearizable([expiring, event({ kind: "read" }, [at, at + 1], view)], skew);
    expect(read(DAY - 2, seen(null))).toBe(false);
    expect(read(DAY + 2, seen("i.1", "a"))).toBe(false);
    expect(read(DAY + 2, seen(null))).toBe(true);
    expect(read(DAY + 2, seen("i.1", "a"), 10)).toBe(true);
  });
});
