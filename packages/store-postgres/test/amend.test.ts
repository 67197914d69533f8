import type { Amendment } from "@scrollback/store-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { planAmend } from "../src/amend.ts";

const range = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }));
const what = fc.oneof(
  fc.constant({ blank: "all" as const }),
  range.map(([from, to]) => ({ blank: { from, to } })),
  fc.integer({ min: 1, max: 9 }).map((expiresAt) => ({ expiresAt })),
  fc.record({ extend: fc.record({ to: fc.constantFrom(3, 8, null), atLeast: fc.constantFrom(0, 5) }) }),
);
const amendments: fc.Arbitrary<Amendment[]> = fc.array(
  fc.tuple(range, what).map(([[from, to], change]) => ({ from, to, ...change })),
  { maxLength: 8 },
);

test("the ranges of a statement increase, do not overlap, and cover the amendments", () => {
  fc.assert(
    fc.property(amendments, (all) => {
      const statements = planAmend(all);
      for (const changes of statements) {
        for (const [index, { since, until }] of changes.entries()) {
          expect(since).toBeLessThan(until);
          expect(since).toBeGreaterThanOrEqual(changes[index - 1]?.until ?? 0);
        }
      }
      for (let number = 1; number <= 20; number++) {
        const isNamed = all.some(({ from, to }) => from <= number && number < to);
        const isChanged = statements[0]?.some(({ since, until }) => since <= number && number < until);
        expect(isChanged ?? false).toBe(isNamed);
      }
    }),
  );
});

test("the amendments of a commit are one statement", () => {
  const collection: Amendment[] = [
    { from: 5, to: 6, blank: { from: 0, to: 2 } },
    { from: 5, to: 6, blank: { from: 3, to: 4 } },
    { from: 1, to: 5, blank: "all" },
    { from: 1, to: 3, expiresAt: 100 },
  ];
  expect(planAmend(collection)).toEqual([
    [
      { since: 1, until: 3, blank_all: true, sets_expiry: true, expires_at: 100 },
      { since: 3, until: 5, blank_all: true, sets_expiry: false },
      {
        since: 5,
        until: 6,
        blank_all: false,
        blank: [
          { since: 0, until: 2 },
          { since: 3, until: 4 },
        ],
        sets_expiry: false,
      },
    ],
  ]);
  expect(planAmend([])).toEqual([]);
});

test("the last of several expiries of a row applies, and an extension starts from it", () => {
  const row = { from: 1, to: 2 };
  expect(
    planAmend([
      { ...row, expiresAt: 4 },
      { ...row, extend: { to: 9, atLeast: 4 } },
    ]),
  ).toEqual([[{ since: 1, until: 2, blank_all: false, sets_expiry: true, expires_at: 9 }]]);
  expect(
    planAmend([
      { ...row, expiresAt: 4 },
      { ...row, extend: { to: null, atLeast: 4 } },
    ]),
  ).toEqual([[{ since: 1, until: 2, blank_all: false, sets_expiry: true }]]);
  expect(
    planAmend([
      { ...row, extend: { to: 9, atLeast: 4 } },
      { ...row, expiresAt: 5 },
    ]),
  ).toEqual([[{ since: 1, until: 2, blank_all: false, sets_expiry: true, expires_at: 5 }]]);
});

test("a row that is extended twice needs a statement for each", () => {
  const row = { from: 1, to: 2 };
  const twice: Amendment[] = [
    { ...row, extend: { to: 5, atLeast: 1 } },
    { ...row, extend: { to: null, atLeast: 5 } },
  ];
  expect(planAmend(twice)).toEqual([
    [{ since: 1, until: 2, blank_all: false, sets_expiry: false, at_least: 1, extend_to: 5 }],
    [{ since: 1, until: 2, blank_all: false, sets_expiry: false, at_least: 5 }],
  ]);
});
