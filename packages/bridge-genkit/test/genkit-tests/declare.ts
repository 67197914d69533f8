import { expect, test } from "vitest";
import { countedTests } from "../../../../conformance-tests/test/fixtures/framework-tests.ts";
import type { DeclareOnBackend } from "../../../../conformance-tests/test/fixtures/server-stores.ts";
import { framework } from "../framework.ts";
import { runGenkitTests } from "./run.ts";

const TIMEOUT_MS = 180_000;

/** The number of tests in Genkit's package. */
const TESTS = framework.version.startsWith("1.39.") ? 125 : 126;

/**
 * Genkit saves two snapshots concurrently in this test, which passes only if the saves end in the order in which they began.
 * Genkit's own in-memory store fails it too if the first save takes 20 ms and the second one 5 ms.
 */
const RACE =
  "failed: Agent definePromptAgent should process all pre-queued messages in the background after detaching";
/** On these backends saves end in any order, because their requests use several connections. */
const racing: readonly string[] = ["Redis Cluster", "MongoDB", "DynamoDB", "PostgreSQL"];

/** Declares the tests of Genkit on a backend, as one test. */
export const declareGenkitTests: DeclareOnBackend = (backend, _open, newUrl) => {
  const { meta } = countedTests(framework, backend, "theirs");
  const isRacing = racing.includes(backend);
  const title = `Genkit's own ${TESTS} tests of agents and session stores pass on ${backend}`;
  test(isRacing ? `${title}, but for its race` : title, { meta, timeout: TIMEOUT_MS }, async ({ task }) => {
    const { passed, failed } = await runGenkitTests(await newUrl());
    task.meta.framework = { ...meta.framework, counts: { passed, failed: failed.length } };
    expect(failed.filter((one) => !isRacing || one !== RACE)).toEqual([]);
    expect(passed + failed.length).toBe(TESTS);
  });
};
