import { expect } from "vitest";
import type { LogRow, RecordLog } from "../index.ts";
import type { DeclareLogTest } from "./harness.ts";

const DAY = 24 * 60 * 60 * 1_000;
/** The maximum difference on a backend that counts in seconds. */
const ROUNDING_MS = 999;

/** Midnight after `days` days, plus milliseconds that rounding would cut off or round up. */
const inDays = (days: number, ms: number) => (Math.ceil(Date.now() / DAY) + days) * DAY + ms;

/** Checks each row by its number: a row that expires before the given time would count as freed. */
function expectExpiries(rows: readonly LogRow[], expected: readonly (number | undefined)[], what: string) {
  expect(rows.map(({ number }) => number).reverse(), what).toEqual(expected.map((_, index) => index + 1));
  for (const { number, expiresAt } of rows) {
    const given = expected[number - 1];
    const row = `${what}: row ${number}`;
    if (given === undefined) expect(expiresAt, row).toBeUndefined();
    else {
      expect(expiresAt, row).toBeGreaterThanOrEqual(given);
      expect(expiresAt, row).toBeLessThanOrEqual(given + ROUNDING_MS);
    }
  }
}

async function checkExpiries(log: RecordLog, own: string, expected: readonly (number | undefined)[]) {
  for (const heads of [false, true]) {
    const rows = await log.read(own, Number.POSITIVE_INFINITY, 100, heads);
    expectExpiries(rows, expected, heads ? "with heads" : "with texts");
  }
  for (const [index] of expected.entries()) {
    const taken = await log.insert(own, { number: index + 1, head: "other", texts: [] });
    expect(taken, "a key that is taken").not.toBe(true);
    if (typeof taken === "object") expectExpiries([{ ...taken, number: 1 }], [expected[index]], "as refused");
  }
}

/** Tests of how a log stores `expiresAt`. */
export function declareExpiries(test: DeclareLogTest): void {
  test("returns when a row expires: the given time or less than a second later, never earlier", async ({
    connect,
  }) => {
    const log = connect();
    const own = crypto.randomUUID();
    const times = [0, 1, 499, 500, 501, 999].map((ms) => inDays(3, ms));
    const inserted = [...times, undefined];
    for (const [index, expiresAt] of inserted.entries())
      await log.insert(own, { number: index + 1, head: "h", texts: ["text"], expiresAt });
    await checkExpiries(log, own, inserted);
    const set = inserted.map((_, index) => inDays(5, 1 + 37 * index));
    const rowOf = (index: number) => ({ from: index + 1, to: index + 2 });
    await log.amend(
      own,
      set.map((expiresAt, index) => ({ ...rowOf(index), expiresAt })),
    );
    await checkExpiries(log, own, set);
    const extended = set.map((_, index) => inDays(7, 998 - 37 * index));
    await log.amend(
      own,
      extended.map((to, index) => ({ ...rowOf(index), extend: { to, atLeast: set[index] ?? 0 } })),
    );
    await checkExpiries(log, own, extended);
    await log.close();
  });
}
