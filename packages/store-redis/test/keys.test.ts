import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatListed, parseFooter, parseListed, threadIdOf, threadKeys } from "../src/keys.ts";

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

describe("an element of the list", () => {
  test("is the kind, the time in 13 digits and the text of a message", () => {
    const message = { kind: "u", createdAt: 42, text: "{}" } as const;
    expect(formatListed(message)).toBe("u0000000000042{}");
    expect(parseListed("u0000000000042{}")).toEqual(message);
  });

  test.each([
    "",
    "garbage",
    "u123",
    "u0x00000000aff{}",
    "u12345678901 3{}",
    "u-000000001000{}",
    "u1e10000000000{}",
  ])("has no valid time if it is %j", (listed) => expect(parseListed(listed).createdAt).toBeNaN());
});

describe("a footer", () => {
  test("has the thread's revision, bounds and times", () => {
    expect(parseFooter("a", "thread 1 ep_-och 12 5 9 0 0 0 1 1 7 8 0 0")).toEqual({
      revision: "ep_-och.12",
      bounds: { pinned: null, compaction: null, first: 5, next: 9 },
      newestCompaction: 0,
      times: { createdAt: 7, updatedAt: 8 },
    });
    expect(parseFooter("a", "thread 1 e 12 5 9 1 3 3 9 5 7 8 9 6")).toMatchObject({
      bounds: { pinned: 1, compaction: 3, first: 5, next: 9 },
      newestCompaction: 3,
      times: { createdAt: 7, updatedAt: 8, expiresAt: 9 },
    });
  });

  test("of a newer format fails with the advice to upgrade", () => {
    expect(() => parseFooter("a", "thread 2 e whatever it says")).toThrow(
      expect.objectContaining({
        code: "UNSUPPORTED",
        message: expect.stringContaining("upgrade @scrollback/store-redis"),
      }),
    );
  });

  test.each([
    "",
    "u1795348800000{}",
    "thread",
    "thread 1 e 1 2",
    "thread 1 e 12 5 9 0 1 1 0",
    "thread one e 12 5 9 0 0 0 1 1 7 8 0 0",
  ])("is not %o", (value) => {
    expect(() => parseFooter("a", value)).toThrow(
      expect.objectContaining({ code: "CORRUPT", message: expect.stringContaining("keyPrefix") }),
    );
  });
});
