import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { outcomesOf } from "../../../conformance-tests/test/nested-vitest.ts";
import { brokenLogs, SOUND } from "./log-mutants/broken-logs.ts";

const TIMEOUT_MS = 120_000;

/** By broken log: the titles of the tests that failed, and of those that passed. */
const failed = new Map<string, string[]>();
const passed = new Map<string, string[]>();

beforeAll(async () => {
  const config = join(import.meta.dirname, "log-mutants/vitest.config.ts");
  for (const { backend, title, status } of await outcomesOf(config, { timeout: TIMEOUT_MS })) {
    if (status !== "failed" && status !== "passed") continue;
    const outcomes = status === "failed" ? failed : passed;
    const name = backend.replace(/'s record log$/, "");
    outcomes.set(name, [...(outcomes.get(name) ?? []), title]);
  }
  const width = Math.max(...Object.keys(brokenLogs).map((name) => name.length));
  for (const name of Object.keys(brokenLogs)) {
    console.log(`a log that ${name.padEnd(width)}  ${failed.get(name)?.join("; ") ?? "by NOTHING"}`);
  }
}, TIMEOUT_MS + 10_000);

test("a log without a fault passes", () => {
  expect(failed.get(SOUND) ?? []).toEqual([]);
  expect(passed.get(SOUND) ?? []).not.toEqual([]);
});

test.each(Object.keys(brokenLogs))("a log that %s is detected", (name) => {
  expect(failed.get(name) ?? []).not.toEqual([]);
  // Otherwise the log might not work at all.
  expect(passed.get(name) ?? []).not.toEqual([]);
});
