import type { Random } from "@scrollback/conformance/internal";
import type { LogRow } from "../index.ts";
import type { Scheduler } from "./scheduler.ts";
import type { StoredRow } from "./simulated-call.ts";
import type { StoredRows } from "./stored-rows.ts";

const oddValues: readonly unknown[] = [
  ...[-1, 0, 1, 1.5, 7, 2 ** 20, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e300, 8.64e15, -8.64e15],
  ...["", "x", "AAAAAAAAAAAAAAAA", null, true, [], {}, [[]], [[0, 2 ** 52]], [[1, 1e15]], [[0, 0, 2 ** 40]]],
  ...[
    "u".repeat(9_999),
    [[2 ** 40, 1]],
    [1, 2 ** 52],
    [2 ** 52, 1],
    [
      [3, 0, 1],
      [2, 0, 5_000],
    ],
    [[5, [[0, 0, 1]]]],
  ],
];
const oddHeads = ["", "{}", "null", "[]", "3", "not JSON", '{"v":2}', '{"v":1}', '{"v":1,"n":1}'];

/** Damages a few rows of a thread, as a wrong command of an operator, a broken disk or an attacker may. */
export function damageRows(rows: StoredRows, random: Random, scheduler: Scheduler): void {
  for (let count = 1 + random.below(3); count > 0; count--) damageOne(rows, random, scheduler);
}

function damageOne(rows: StoredRows, random: Random, scheduler: Scheduler): void {
  const highest = rows.highest;
  // The newest rows matter most.
  const candidates = rows.below(Number.POSITIVE_INFINITY, random.pick(1, 3, 20, 200));
  const victim = candidates[random.below(candidates.length)];
  if (!victim) return;
  scheduler.step("damage", 0, victim.number);
  const { row } = victim;
  const change = (changed: Partial<LogRow>) => rows.replace(victim, { ...row, ...changed });
  const kind = random.below(9);
  if (kind === 0) change({ head: pickOf(oddHeads, random) });
  else if (kind < 4) change({ head: changedHead(row.head, random) });
  else if (kind === 4) change({ texts: changedTexts(row.texts, random) });
  else if (kind === 5) change({ expiresAt: random.pick(undefined, 0, 1e15) });
  else if (kind === 6) rows.delete(victim.number);
  else plant(rows, victim, highest, random);
}

/** Inserts a copy of another row, unchanged or changed. */
function plant(rows: StoredRows, { row }: StoredRow, highest: number, random: Random): void {
  const number = random.pick(
    ...([highest + 1, highest + 2, highest + 5_000, row.number - 1, row.number + 1] as const),
    ...([1, 2, 3, 2 ** 20, 2 ** 20 - 1, 2 ** 53 - 1, 2 ** 53 - 2] as const),
  );
  // A row at the last number leaves no room for a commit, so it is planted rarely.
  if (number < 1 || rows.get(number) || (number > 2 ** 52 && !random.chance(0.1))) return;
  const head = random.chance(0.5) ? row.head : changedHead(row.head, random);
  const planted = { ...row, number, head };
  rows.insert({
    number,
    row: planted,
    heads: { ...planted, texts: [] },
    head: undefined,
    origin: undefined,
    insertedAt: 0,
    isLinked: false,
    isFreed: false,
    isReleased: false,
    isExtendedLate: false,
    isDoubled: false,
  });
}

function changedHead(head: string, random: Random): string {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(head);
  } catch {
    return pickOf(oddHeads, random);
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) return pickOf(oddHeads, random);
  const keys = [
    ...Object.keys(json),
    ...random.pick([], ["z"], ["X"], ["F", "D"], ["U"], ["f"], ["g"], ["m"]),
  ];
  const key = pickOf(keys, random) ?? "v";
  if (random.chance(0.2)) delete json[key];
  else if (typeof json[key] === "number" && random.chance(0.5))
    json[key] = (json[key] as number) + random.pick(-1, 1, -1_000, 1_000, 2 ** 40);
  else json[key] = pickOf(oddValues, random);
  return JSON.stringify(json);
}

function changedTexts(texts: readonly string[], random: Random): string[] {
  switch (random.below(4)) {
    case 0:
      return [];
    case 1:
      return texts.map(() => "");
    case 2:
      return [...texts].reverse();
    default:
      return texts.map((text) => (random.chance(0.5) ? text : "not a record"));
  }
}

function pickOf<T>(values: readonly T[], random: Random): T {
  return values[random.below(values.length)] as T;
}
