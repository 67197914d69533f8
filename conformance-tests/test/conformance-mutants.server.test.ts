import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { mutants, SLOW, SOUND } from "./mutants/index.ts";
import { outcomesOf } from "./nested-vitest.ts";

/** Ends a run that hangs; a busy machine takes ten minutes. */
const TIMEOUT_MS = 1_800_000;

/** The clauses of the failed tests and of the passed tests, by backend. */
const failed = new Map<string, Set<string>>();
const passed = new Map<string, Set<string>>();
/** The titles of the failed tests, and their messages, by backend. */
const killers = new Map<string, string[]>();
const failureMessages = new Map<string, string>();

beforeAll(async () => {
  const config = join(import.meta.dirname, "mutants/vitest.config.ts");
  const env = { CONFORMANCE_HISTORY_SECONDS: "5" };
  for (const { backend, title, status, messages } of await outcomesOf(config, { env, timeout: TIMEOUT_MS })) {
    const outcomes = status === "failed" ? failed : status === "passed" ? passed : undefined;
    outcomes?.set(backend, (outcomes.get(backend) ?? new Set()).add(title.split(" ")[0] ?? ""));
    if (status === "failed") killers.set(backend, [...(killers.get(backend) ?? []), title]);
    failureMessages.set(backend, (failureMessages.get(backend) ?? "") + messages.join("\n"));
  }
  const width = Math.max(...mutants.map(({ name }) => name.length));
  const lines = mutants.map(({ name, breaks }) => {
    const [first = "by NOTHING", ...more] = killers.get(name) ?? [];
    const others = more.length > 0 ? ` (and ${more.length} more)` : "";
    return `a backend that ${name.padEnd(width)}  ${breaks.padEnd(3)}  ${first}${others}`;
  });
  console.log(lines.join("\n"));
}, TIMEOUT_MS + 10_000);

test("a correct backend passes every test", () => {
  expect([...(failed.get(SOUND) ?? [])], failureMessages.get(SOUND)).toEqual([]);
  expect(passed.get(SOUND)?.size, "clauses that passed").toBeGreaterThanOrEqual(22);
});

test("a slow backend passes every test", () => {
  expect([...(failed.get(SLOW) ?? [])], failureMessages.get(SLOW)).toEqual([]);
  expect([...(passed.get(SLOW) ?? [])].sort()).toEqual(["C11", "C5", "C7"]);
});

test.each(mutants.map(({ name, breaks }) => [name, breaks] as const))(
  "a backend that %s fails %s",
  (name, breaks) => {
    expect([...(failed.get(name) ?? [])]).toEqual([breaks]);
    // Otherwise the backend might not work at all.
    expect([...(passed.get(name) ?? [])], "tests of the clause that pass").toEqual([breaks]);
  },
);

test.each(mutants.flatMap(({ name, says }) => (says ? [[name, says] as const] : [])))(
  "the failure of a backend that %s says %s",
  (name, says) => {
    expect(failureMessages.get(name)).toMatch(says);
  },
);
