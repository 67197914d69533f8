import type { BackendKey, Row, RowName } from "./results.ts";

/** Most that ours may take, as a multiple of the raw client's time; for rows of many writers, the least share of its commits. */
const targets: Readonly<Record<BackendKey, Partial<Record<RowName, number>>>> = {
  redis: { "append 1": 1.2, "append 20": 1.3, "newest 20": 1.15, "8 factories, 8 threads": 0.85 },
  mongodb: {
    ...{ "append 1": 1.25, "append 20": 1.25, "newest 20": 0.5, "all of 1,000": 0.4 },
    ...{ "8 factories, 8 threads": 0.8, "8 factories, one thread": 0.2 },
  },
  dynamodb: { "append 1": 2, "newest 20": 1.2, "8 factories, 8 threads": 0.8 },
  postgres: { "8 factories, one thread": 0.5 },
  "sqlite-full": { "append 1": 1.25, "append 20": 1.25, "newest 20": 1.2 },
  "sqlite-normal": { "append 1": 1.6, "append 20": 1.4, "newest 20": 1.2 },
  libsql: {},
  "durable-object": {},
  d1: {},
};

/** A row's target, and whether it is met; undefined without a target. */
export function judge(key: BackendKey, row: Row): { target: number; met: boolean } | undefined {
  const target = targets[key][row.name];
  if (target === undefined) return undefined;
  // Commits per second: more is better.
  const isRate = row.name.startsWith("8 ");
  const ratio = row.ours / (row.raw ?? Number.NaN);
  return { target, met: isRate ? ratio >= target : ratio <= target };
}
