import { expect, test } from "vitest";
import { TruncatingReducer } from "../src/index.ts";
import { history, idsOf } from "./messages.ts";

async function truncated(letters: string, targetCount: number, threshold?: number): Promise<string> {
  const options = threshold === undefined ? {} : { threshold };
  return idsOf(await new TruncatingReducer({ targetCount, ...options }).reduce(history(letters)));
}

test.each([
  ["u a u a u", 1, "u4", "the newest targetCount stay"],
  ["u a u a u", 3, "u2 a3 u4", "in order"],
  ["", 3, "", "an empty history stays empty"],
  ["s u a u a", 3, "s0 u3 a4", "the first system message is kept and counted"],
  ["s u a u", 1, "s0 u3", "but for targetCount 1, where it stands beside the newest"],
  ["s u", 1, "s0 u1", "also where that is all"],
  ["u s a u", 2, "s1 u3", "wherever it stood, it comes first"],
  ["u u u s u", 2, "s3 u4", "one that is in the tail already is not doubled"],
  ["u a u s u", 3, "u2 s3 u4", "and stays in its place"],
  ["u a s u", 2, "s2 u3", "where the tail begins, too"],
  ["u a s", 1, "s2", "and where it is the newest"],
  ["s u s u u", 3, "s0 u3 u4", "later ones are messages like others"],
  ["s u u s u", 3, "s0 s3 u4", "in the tail, too"],
])("%s, targetCount %i: %s (%s)", async (letters, targetCount, expected) => {
  expect(await truncated(letters, targetCount)).toBe(expected);
  expect(await truncated(letters, targetCount, 0)).toBe(expected);
});

test.each([
  ["u a u a u", 3, 2, "u0 a1 u2 a3 u4"],
  ["u a u a u a", 3, 2, "u2 a3 u4 a5"],
  ["s u a c:x r:x", 4, 1, "s0 u1 a2 c3 r4"],
  ["a s u s c:x", 1, 4, "a0 s1 u2 s3 c4"],
])(
  "nothing changes up to targetCount + threshold: %s, %i, %i",
  async (letters, target, threshold, expected) => {
    expect(await truncated(letters, target, threshold)).toBe(expected);
  },
);

test.each([
  ["u a u c:x r:x a", 2, "c3 r4 a5", "from between a call and its result"],
  ["u c:x,y r:x r:y a", 2, "c1 r2 r3 a4", "however many results there are"],
  ["u q:x y:x r:x a", 2, "q1 y2 r3 a4", "from between an approval and the result"],
  ["u q:x r:x Y:x a", 2, "q1 r2 Y3 a4", "or the result and an approval that comes late"],
  ["u a c:x Q:x", 1, "c2 Q3", "or a call and its approval request"],
  ["u a c:x u r:x a", 2, "c2 u3 r4 a5", "also where the two are not adjacent"],
  ["u a c:x r:x a", 1, "a4", "and no further than needed"],
  ["u a c:x r:x c:x r:x", 1, "c4 r5", "an id that comes again belongs to the later call"],
  ["u a c:x r:x a u r:z a", 2, "r6 a7", "a result without a call is no exchange"],
  ["u a c:x t", 1, "c2 t3", "a tool's message that tells no id belongs to the call before it"],
  ["u c:x s u r:x", 2, "c1 s2 u3 r4", "a system message that comes into the tail is not doubled"],
  ["u s c:x r:x", 1, "s1 c2 r3", "the system message stays in front of it"],
])(
  "the start moves to older messages: %s, targetCount %i: %s (%s)",
  async (letters, targetCount, expected) => {
    expect(await truncated(letters, targetCount)).toBe(expected);
  },
);

test.each([
  ["u a u a a a u", 2, 0, "a5 u6", "not with threshold 0"],
  ["u a u a a a u", 2, 2, "a5 u6", "not where it is further away"],
  ["u a u a a a u", 2, 3, "u2 a3 a4 a5 u6", "within threshold messages"],
  ["u a u a u a u a", 2, 5, "u6 a7", "not where it begins at one"],
  ["u a u a u a u a", 3, 4, "u4 a5 u6 a7", "the nearest one"],
  ["s u a u a a a u", 3, 3, "s0 u3 a4 a5 a6 u7", "counted from where the kept part would have begun"],
  ["u a a u c:x r:x a", 1, 2, "a6", "an exchange that would fit is no reason to keep more"],
  ["u a u a c:x r:x a", 2, 2, "c4 r5 a6", "not further than threshold, moved for an exchange or not"],
  ["u a u a c:x r:x a", 2, 3, "u2 a3 c4 r5 a6", "and up to threshold, moved for an exchange or not"],
  ["u a u Y:x a a", 2, 1, "a4 a5", "an approval is no user's question"],
  ["u a c:x u r:x a a", 1, 4, "a6", "and none from where an exchange would be cut"],
])(
  "the start then moves to the nearest user message: %s, %i, %i: %s (%s)",
  async (letters, target, threshold, expected) => {
    expect(await truncated(letters, target, threshold)).toBe(expected);
  },
);

test("its settings are readable and immutable", () => {
  const { settings } = new TruncatingReducer({ targetCount: 3 });
  expect(settings).toEqual({ targetCount: 3, threshold: 0 });
  expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
  expect(Object.isFrozen(settings)).toBe(true);
});
