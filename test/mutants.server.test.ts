import { join } from "node:path";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { outcomesOf } from "../conformance-tests/test/nested-vitest.ts";
import { sourceMutants, titleOf } from "./mutants/source-mutants.ts";

/** Far above the time on a quiet machine, about two minutes: a busy one is several times slower. */
const TIMEOUT_MS = 1_200_000;

/** By mutant: the titles of the tests that failed. */
const killers = new Map<string, string[]>();
let servers: RunningServer[];

beforeAll(async () => {
  const [redis, postgres] = await Promise.all([startServer("redis"), startServer("postgres")]);
  servers = [redis, postgres];
  const config = join(import.meta.dirname, "mutants/vitest.config.ts");
  const env = { SCROLLBACK_REDIS_URL: redis.url, SCROLLBACK_POSTGRES_URL: postgres.url };
  for (const { backend, title, status } of await outcomesOf(config, { env, timeout: TIMEOUT_MS })) {
    const before = killers.get(backend) ?? [];
    killers.set(backend, status === "failed" ? [...before, title] : before);
  }
  const width = Math.max(...sourceMutants.map((mutant) => titleOf(mutant).length));
  const lines = sourceMutants.map((mutant) => {
    const [first = "by NOTHING", ...more] = killers.get(titleOf(mutant)) ?? [];
    return `${titleOf(mutant).padEnd(width)}  ${mutant.breaks.padEnd(3)}  ${first}${more.length > 0 ? ` (and ${more.length} more)` : ""}`;
  });
  console.log(lines.join("\n"));
}, TIMEOUT_MS + 10_000);
afterAll(() => Promise.all(servers.map((server) => server.stop())));

test.each(sourceMutants.map((mutant) => [titleOf(mutant), mutant.breaks] as const))(
  "a source in which %s fails %s",
  (name) => {
    expect(killers.get(name)).not.toEqual([]);
  },
);

test("every clause has a mutant", async () => {
  const { mutants } = await import("../conformance-tests/test/mutants/index.ts");
  const broken = new Set([...mutants, ...sourceMutants].map(({ breaks }) => breaks));
  const clauses = Array.from({ length: 18 }, (_, index) => `C${index + 1}`);
  expect(clauses.filter((clause) => !broken.has(clause))).toEqual([]);
});
