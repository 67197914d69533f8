import { type ChatMessage, createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { type Entry, expectedEntries, prove, quantile } from "./proof.ts";

const system: ChatMessage = { role: "system", content: "Be brief." };
const user = (text: string): ChatMessage => ({ role: "user", content: text });
const assistant = (text: string): ChatMessage => ({ role: "assistant", content: text });
const result = (id: string): ChatMessage => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId: id, toolName: "a", output: null }],
});
const picture = (...bytes: number[]): ChatMessage => ({
  role: "user",
  content: [{ type: "file", mediaType: "image/png", data: Uint8Array.from(bytes) }],
});

const batches: ChatMessage[][] = [
  [system, user("1")],
  [assistant("2"), result("a"), assistant("3")],
  [picture(1, 2, 3)],
  [assistant("4")],
  [user("5")],
  [assistant("6"), result("b")],
];
const messages = batches.flat();

describe("expectedEntries", () => {
  const sequences = (maxMessages: number) =>
    expectedEntries(batches, maxMessages).map(({ sequence }) => sequence);

  test("keeps the system prompt and begins at a user's message", () => {
    expect(sequences(100)).toEqual(messages.map((_, index) => index + 1));
    expect(sequences(8)).toEqual([1, 6, 7, 8, 9, 10]);
    expect(sequences(5)).toEqual([1, 8, 9, 10]);
    expect(sequences(3)).toEqual([1, 9, 10]);
    expect(sequences(1)).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 8, 100])("agrees with a store of maxMessages %s", async (maxMessages) => {
    const store = createMemoryStores({ maxMessages }).open();
    for (const batch of batches) await store.addMessages(batch);
    const { entries } = await store.read();
    const stored = entries.map(({ sequence, message }) => ({ sequence, message }));
    expect(stored).toStrictEqual(expectedEntries(batches, maxMessages));
  });
});

describe("prove", () => {
  const acknowledged = batches.map((_, index) => ({ batch: index + 1, wasThere: false }));
  const expected = expectedEntries(batches, 5);
  const failures = (stored: readonly Entry[], all = acknowledged) =>
    prove(stored, expected, messages.length, batches.length, all).flatMap(({ holds, finding }) =>
      holds ? [] : [finding],
    );

  /** The content of a store after these batches. */
  async function storeOf(...committed: ChatMessage[][]): Promise<Entry[]> {
    const store = createMemoryStores({ maxMessages: 5 }).open();
    for (const batch of committed) await store.addMessages(batch);
    return (await store.read()).entries;
  }

  test("passes for a correct store, including a repeated batch", async () => {
    const stored = await storeOf(...batches);
    expect(failures(stored)).toEqual([]);
    const repeated = [...acknowledged, { batch: 3, wasThere: true }];
    expect(failures(stored, repeated)).toEqual([]);
    const [, , last] = prove(stored, expected, messages.length, batches.length, repeated);
    expect(last?.finding).toBe("6 of 6 batches acknowledged; repeats that changed nothing: 1");
  });

  test("fails for a doubled batch, also after it was trimmed", async () => {
    for (const [index, batch] of batches.entries()) {
      const stored = await storeOf(...batches.slice(0, index), batch, ...batches.slice(index));
      expect(failures(stored)[0], `batch ${index + 1} stored twice`).toContain(
        "lost or doubled: 10 messages added",
      );
    }
  });

  test("fails for a lost batch, also if it would have been trimmed", async () => {
    for (const index of batches.keys()) {
      const stored = await storeOf(...batches.toSpliced(index, 1));
      expect(failures(stored)[0], `batch ${index + 1} lost`).toContain("lost or doubled");
    }
  });

  test("fails for a list that is doubled, empty, short, out of order or changed", () => {
    const [first, second, ...rest] = expected;
    if (!first || !second) throw new Error("too few entries");
    const changed = { sequence: first.sequence, message: user("other") };
    for (const [what, stored] of Object.entries({
      doubled: [...expected, ...expected],
      empty: [],
      short: expected.slice(1),
      "out of order": [second, first, ...rest],
      changed: [changed, second, ...rest],
    })) {
      expect(failures(stored).length, what).toBeGreaterThan(0);
    }
    expect(failures([changed, second, ...rest])).toEqual([
      "4 messages should be kept, 4 are; kept message 1 is not the file's",
    ]);
  });

  test("fails for one byte of a picture", () => {
    const wide = expectedEntries(batches, 8);
    const proof = (stored: readonly Entry[]) =>
      prove(stored, wide, messages.length, batches.length, acknowledged);
    expect(proof(structuredClone(wide)).map(({ holds }) => holds)).toEqual([true, true, true]);
    const stored = wide.map((entry) =>
      entry.sequence === 6 ? { ...entry, message: picture(1, 2, 4) } : entry,
    );
    expect(proof(stored).map(({ holds }) => holds)).toEqual([true, false, true]);
  });

  test("fails for a batch that was not acknowledged", async () => {
    expect(failures(await storeOf(...batches), acknowledged.slice(1))).toEqual([
      "5 of 6 batches acknowledged; repeats that changed nothing: 0",
    ]);
  });
});

test("quantile", () => {
  expect([0, 0.5, 0.95, 1].map((share) => quantile([5, 1, 4, 2, 3], share))).toEqual([1, 3, 5, 5]);
  expect(
    quantile(
      Array.from({ length: 100 }, (_, index) => index + 1),
      0.95,
    ),
  ).toBe(95);
  expect(quantile([], 0.5)).toBeNaN();
});
