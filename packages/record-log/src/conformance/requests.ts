import { expect } from "vitest";
import { type Amendment, FIRST_ROW, type RecordLog } from "../index.ts";
import type { DeclareLogTest, RecordLogHarness } from "./harness.ts";
import { listAll, makeStreams } from "./listing.ts";

/** The number of a row that a driver would insert today. */
const TODAY = Date.now() * 2048;
const ROWS = 60;

/** The maximum number of requests for a page: a backend may have partitions that it must query one by one. */
const MAX_PAGE_REQUESTS = 20;

/** Runs with a log; `count` returns the number of requests that a call sends. */
async function withCount(
  harness: RecordLogHarness,
  run: (log: RecordLog, count: (call: () => Promise<unknown>) => Promise<number>) => Promise<void>,
): Promise<void> {
  const log = harness.connect();
  const count = async (call: () => Promise<unknown>) => {
    const before = harness.requestCount();
    await call();
    return harness.requestCount() - before;
  };
  await run(log, count).finally(() => log.close());
}

/** Tests of the numbers of requests that verbs send. */
export function declareRequests(test: DeclareLogTest): void {
  test("amends a range of any width with the requests that its rows need", (harness) =>
    withCount(harness, async (log, count) => {
      const own = crypto.randomUUID();
      const numbers = [1, 2, 3, ...Array.from({ length: ROWS }, (_, index) => TODAY + index)];
      for (const number of numbers) await log.insert(own, { number, head: "h", texts: ["text"] });
      const change = { blank: "all" as const, expiresAt: Math.ceil(Date.now() / 1_000 + 1e6) * 1_000 };
      const narrow: Amendment[] = [
        { from: TODAY, to: TODAY + ROWS, ...change },
        { from: 1, to: 4, ...change },
      ];
      const wide: Amendment[] = [
        { from: FIRST_ROW, to: TODAY + ROWS, ...change },
        { from: 1, to: FIRST_ROW, ...change },
      ];
      const needed = await count(() => log.amend(own, narrow));
      // A backend may have to find out first which rows exist.
      expect(await count(() => log.amend(own, wide))).toBeLessThanOrEqual(needed + wide.length);
      const rows = await log.read(own, Number.POSITIVE_INFINITY, 100, false);
      expect(rows).toHaveLength(numbers.length);
      for (const { texts, expiresAt } of rows) {
        expect([texts.join(""), expiresAt]).toEqual(["", change.expiresAt]);
      }
      const absent = crypto.randomUUID();
      expect(await count(() => log.amend(absent, wide)), "without rows").toBeLessThanOrEqual(wide.length);
    }));

  test("sends few requests for a page of streams, independent of the number of streams, rows and roots", (harness) =>
    withCount(harness, async (log, count) => {
      const own = `${crypto.randomUUID()}/`;
      const names = Array.from({ length: 300 }, (_, index) => `${own}${index}`);
      await makeStreams(log, names);
      for (let number = 2; number <= 50; number++) {
        for (const base of [0, TODAY]) {
          await log.insert(`${own}0`, { number: base + number, head: "h", texts: ["text"] });
        }
      }
      for (const [prefix, limit] of [
        [own, 1_000],
        [own, 100],
        [own, 1],
        [`${own}29`, 1_000],
        [`${own}none`, 1_000],
      ] as const) {
        let pages = 0;
        let listed: string[] = [];
        const requests = await count(async () => {
          listed = await listAll(log, { prefix, limit }, async () => void pages++);
        });
        expect(new Set(listed)).toEqual(new Set(names.filter((one) => one.startsWith(prefix))));
        const most = Math.ceil(listed.length / limit) + MAX_PAGE_REQUESTS;
        expect(pages, `pages of ${limit} for ${listed.length} streams`).toBeLessThanOrEqual(most);
        expect(requests, `requests for ${pages} pages`).toBeLessThanOrEqual(pages + MAX_PAGE_REQUESTS);
      }
    }));
}
