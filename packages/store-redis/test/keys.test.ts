import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { threadIdOf, threadKeys } from "../src/keys.ts";

/** Strings that may collide: short, with the characters that have a meaning in a key. */
const text = fc.string({
  unit: fc.constantFrom("a", ":", "{", "}", "%", "7", "B", "\0", "\n", "*", "😀"),
  minLength: 1,
});

/** The hashed part of a key in Redis Cluster: the text between the first brace and the next closing one, unless empty. */
function hashTag(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}

describe("keys", () => {
  test("no two pairs of prefix and thread id have a key in common", () => {
    fc.assert(
      fc.property(text, text, text, text, (prefixA, idA, prefixB, idB) => {
        fc.pre(prefixA !== prefixB || idA !== idB);
        const a = Object.values(threadKeys(prefixA, idA));
        const b = Object.values(threadKeys(prefixB, idB));
        expect(a.filter((key) => b.includes(key))).toEqual([]);
      }),
      { numRuns: 5_000 },
    );
  });

  test("the keys of a thread share one hash tag that no other thread has", () => {
    fc.assert(
      fc.property(text, text, text, (prefix, id, other) => {
        fc.pre(id !== other);
        const { messages, meta, deleted, deletedBefore } = threadKeys(prefix, id);
        expect(hashTag(messages)).toBe(hashTag(meta));
        expect(hashTag(messages)).toBe(hashTag(deleted));
        expect(hashTag(messages)).toBe(hashTag(deletedBefore));
        expect(hashTag(messages)).not.toBe(messages);
        expect(hashTag(messages)).not.toBe(hashTag(threadKeys(prefix, other).messages));
      }),
    );
  });

  test("the id of a thread is read back from its key", () => {
    fc.assert(
      fc.property(text, text, (prefix, id) => {
        expect(threadIdOf(prefix, threadKeys(prefix, id).messages)).toBe(id);
      }),
    );
  });

  test("an ordinary id is unchanged in its keys", () => {
    expect(threadKeys("scrollback", "chat-1")).toEqual({
      messages: "scrollback:{chat-1}:messages",
      meta: "scrollback:{chat-1}:meta",
      deleted: "scrollback:{chat-1}:deleted",
      deletedBefore: "scrollback:{chat-1}:deleted-before",
    });
    expect(threadKeys("a{b", "c}%").messages).toBe("a%7Bb:{c%7D%25}:messages");
  });
});
