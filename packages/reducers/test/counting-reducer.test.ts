import { describe, expect, test } from "vitest";
import { MessageCountingReducer } from "../src/index.ts";
import { history, idsOf } from "./messages.ts";

async function counted(letters: string, targetCount: number, keepToolMessages?: boolean): Promise<string> {
  const options = keepToolMessages === undefined ? {} : { keepToolMessages };
  return idsOf(await new MessageCountingReducer({ targetCount, ...options }).reduce(history(letters)));
}

describe("MessageCountingReducer", () => {
  test.each([
    ["u a u a u", 2, "a3 u4", "the newest targetCount stay, in order"],
    ["u a", 2, "u0 a1", "a history that fits stays"],
    ["", 2, "", "an empty history stays empty"],
    ["s u a u", 1, "s0 u3", "the first system message is kept and not counted"],
    ["s u s a s", 5, "s0 u1 a3", "later system messages are dropped, also under the limit"],
    ["u s a u", 2, "s1 a2 u3", "the system message comes first, wherever it stood"],
    ["u c:x r:x a", 9, "u0 a3", "calls and results are dropped, also under the limit"],
    ["u q:x Y:x R:x a", 9, "u0 a4", "so are approvals and results in messages of users"],
    ["u q:x y:x r:x t a p:z a", 9, "u0 a5 a7", "and whatever is of role tool"],
    ["u c:x r:x a u", 3, "u0 a3 u4", "what is dropped is not counted"],
    ["c:x r:x", 3, "", "where all is tool content, nothing is left"],
  ])("%s, targetCount %i: %s (%s)", async (letters, targetCount, expected) => {
    expect(await counted(letters, targetCount)).toBe(expected);
    expect(await counted(letters, targetCount, false)).toBe(expected);
  });
});

describe("keepToolMessages", () => {
  test.each([
    ["u c:x r:x a", 9, "u0 c1 r2 a3", "tool messages are kept"],
    ["u c:x r:x a", 3, "c1 r2 a3", "and counted like others"],
    ["u c:x r:x a", 2, "a3", "the tail never begins between a call and its result"],
    ["u c:x,y r:x r:y a u", 3, "a4 u5", "however many results there are"],
    ["u q:x y:x r:x a", 2, "a4", "nor between an approval and the result"],
    ["u c:x u r:x a", 2, "a4", "also where the two are not adjacent"],
    ["u c:x r:x", 1, "", "it is shorter then, down to nothing"],
    ["s u c:x r:x", 1, "s0", "but for the system message"],
    ["s u c:x s r:x a", 9, "s0 u1 c2 r4 a5", "later system messages are dropped all the same"],
    ["c:x r:x u c:x r:x a", 4, "u2 c3 r4 a5", "an id that comes again belongs to the later call"],
  ])("%s, targetCount %i: %s (%s)", async (letters, targetCount, expected) => {
    expect(await counted(letters, targetCount, true)).toBe(expected);
  });
});

test("its settings are readable and immutable", () => {
  const { settings } = new MessageCountingReducer({ targetCount: 3 });
  expect(settings).toEqual({ targetCount: 3, keepToolMessages: false });
  expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
  expect(Object.isFrozen(settings)).toBe(true);
});
