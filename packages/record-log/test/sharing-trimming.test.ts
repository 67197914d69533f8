import type { CommitOutcome, ThreadView } from "@scrollback/store-core/driver";
import { formatRecord, type MessageKind } from "@scrollback/store-core/internal";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MemoryRecordLog } from "../src/index.ts";
import { THREAD } from "./scenes.ts";
import { appendOf, nOf, processOn, rowSizes, whole } from "./sharing.ts";

test("what is trimmed is removed at the latest 64 commits later, also if rows have many commits", async () => {
  for (const size of [3, 20, 33]) {
    const rows = new MemoryRecordLog();
    const { driver } = processOn(rows);
    let n = 0;
    for (let round = 0; round < 60; round++) {
      const many = Array.from({ length: size }, () => appendOf(`m${++n}`, { maxMessages: 2 }));
      await Promise.all(many.map((request) => driver.commit(request)));
      const texts = rows.rowsOf(THREAD).flatMap((row) => row.texts.filter((text) => text !== ""));
      // The message of commit k is trimmed by commit k + 2.
      const oldest = Math.min(...texts.map((text) => Number(/"m(\d+)"/.exec(text)?.[1])));
      expect(n - (oldest + 2)).toBeLessThan(64);
    }
  }
});

const kind = fc.constantFrom<MessageKind>("s", "u", "o", "t");
const append = fc.array(kind, { minLength: 1, maxLength: 4 });
const settings = fc.record({
  maxMessages: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 9 })),
  trimming: fc.constantFrom("turns" as const, "exact" as const),
});

const unlimited = { maxMessages: undefined, trimming: "turns" } as const;

test("C6 commits that share a row leave the same thread as one after the other", async () => {
  let shared = 0;
  const property = fc.asyncProperty(
    fc.array(fc.tuple(append, settings), { maxLength: 12 }),
    fc.array(append, { minLength: 2, maxLength: 12 }),
    // Stores of one factory may differ in their limits.
    fc.array(settings, { minLength: 1, maxLength: 3 }),
    fc.boolean(),
    async (history, commits, limits, isCold) => {
      let count = 0;
      const requestOf = (kinds: readonly MessageKind[], own: (typeof limits)[number] = unlimited) => {
        count += 1;
        const records = kinds.map((one, index) => formatRecord(one, 0, `"${count}.${index}"`));
        return appendOf(`o${count}`, { append: records, updatedAt: count, createdAt: count, ...own });
      };
      const before = history.map(([kinds, own]) => requestOf(kinds, own));
      const first = requestOf(["u"]);
      const together = commits.map((kinds, index) => requestOf(kinds, limits[index % limits.length]));
      const rows = new MemoryRecordLog();
      const [alone, sharing, cold] = [processOn(new MemoryRecordLog()), processOn(rows), processOn(rows)];
      for (const request of before) {
        await alone.driver.commit(request);
        await sharing.driver.commit(request);
      }
      const { driver } = isCold ? cold : sharing;
      const outcomes = await Promise.all([first, ...together].map((request) => driver.commit(request)));
      const expected: CommitOutcome[] = [];
      for (const request of [first, ...together]) expected.push(await alone.driver.commit(request));
      expect(outcomes.map(nOf)).toEqual(expected.map(nOf));
      const views: ThreadView[] = [];
      for (const one of [alone.driver, sharing.driver, cold.driver, processOn(rows).driver])
        views.push({ ...(await one.read(whole)), revision: null });
      for (const view of views) expect(view).toEqual(views[0]);
      shared += rowSizes(rows).filter((size) => size > 1).length;
      // The next commit finds what the row has left.
      const after = requestOf(["t", "u"], limits[0]);
      await Promise.all([alone.driver.commit(after), cold.driver.commit(after)]);
      const [one, other] = [await alone.driver.read(whole), await sharing.driver.read(whole)];
      expect(other.entries).toEqual(one.entries);
    },
  );
  await fc.assert(property, { numRuns: 400 });
  expect(shared).toBeGreaterThan(300);
});
