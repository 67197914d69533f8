import { randomUUID } from "node:crypto";
import { createStores, type Driver } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import { DEADLINE_MS } from "../checks/times.ts";
import { ObservedClient } from "../observed/client.ts";
import { type Observation, ObservationLog } from "../observed/observation.ts";
import { tell } from "../observed/operations.ts";
import { expectExplained, observe } from "../observed/run.ts";

/** The minimum number of commits of each client before the fault, and after it. */
const STEADY = 3;

export interface LoadOptions {
  /** The clients that the fault affects. */
  readonly clients: readonly Driver[];
  /** A client that the fault does not affect. */
  readonly sound: Driver;
  /** Whether the backend with this setup may lose acknowledged commits, for example when a replica takes over. Default no. */
  readonly mayLose?: boolean;
  /** Whether failed calls must have `retryable: true`. Default yes. */
  readonly retryable?: boolean;
}

/**
 * Runs clients on one thread, before, during and after a fault. One order of commits must explain what they observed; failed calls
 * must say that the backend is unavailable, within the time limit.
 *
 * @returns a figure in the form of the table.
 */
export async function underLoad(
  fault: () => Promise<void>,
  { clients, sound, mayLose = false, retryable = true }: LoadOptions,
): Promise<string> {
  const thread = { threadId: randomUUID() };
  const task = { threads: [thread], seed: thread.threadId, pauseMs: 8, isAppending: mayLose };
  let backAfterMs = 0;
  const run = await observe([thread], sound, async (path) => {
    using log = new ObservationLog(path);
    const observed = clients.flatMap((client, index) =>
      ["a", "b"].map((name) => new ObservedClient(createStores(client), `${index}${name}`, task, log)),
    );
    const untilSteady = async () => {
      const enough = observed.map(({ acknowledged }) => acknowledged + STEADY);
      const isSteady = () =>
        observed.every(({ acknowledged }, index) => acknowledged >= (enough[index] ?? 0));
      await vi.waitFor(() => expect(isSteady()).toBe(true), { timeout: 40_000, interval: 5 });
    };
    let isOver = false;
    const running = Promise.all(observed.map((client) => client.run(() => isOver)));
    try {
      await untilSteady();
      await fault();
      const over = performance.now();
      await untilSteady();
      backAfterMs = performance.now() - over;
    } finally {
      isOver = true;
      await running;
    }
  });
  const failed = run.observations.filter(
    ({ outcome }) => "retryable" in outcome && outcome.code !== "ABORTED",
  );
  for (const one of failed) expect(one.outcome, tell(one)).toMatchObject({ code: "UNAVAILABLE", retryable });
  const longestMs = (calls: readonly Observation[]) =>
    Math.max(0, ...calls.map(({ called, returned }) => (returned - called) / 1_000));
  expect(longestMs(failed), "milliseconds of the longest call that failed").toBeLessThan(DEADLINE_MS);
  // One that succeeds may also have waited for the other writers.
  const longestCallMs = longestMs(run.observations);
  expect(longestCallMs, "milliseconds of the longest call").toBeLessThan(2 * DEADLINE_MS);
  await expectExplained(mayLose ? { ...run, problems: [] } : run);
  const lost = mayLose ? lostIn(run.observations) : 0;
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  return [
    `${run.observations.filter(({ outcome }) => outcome.kind === "committed").length} commits`,
    ...(failed.length > 0 ? [`${failed.length} calls failed`] : []),
    ...(lost > 0 ? [`${lost} lost`] : []),
    `longest call ${seconds(longestCallMs)}`,
    `back in ${seconds(backAfterMs)}`,
  ].join(", ");
}

/** The number of acknowledged commits that are missing at the end. The others must be there whole and once. */
function lostIn(observations: readonly Observation[]): number {
  const end = observations.at(-1)?.outcome;
  const texts = end?.kind === "page" ? end.entries.map(([, text]) => text) : [];
  expect(new Set(texts).size, "messages, none doubled").toBe(texts.length);
  const appended = observations.flatMap(({ action, outcome }) =>
    action.kind === "commit" ? [{ append: action.change.append, outcome }] : [],
  );
  const isThere = ([first = "", ...rest]: readonly string[]) => {
    const at = texts.indexOf(first);
    const whole =
      at < 0 ? rest.filter((text) => texts.includes(text)) : texts.slice(at + 1, at + 1 + rest.length);
    expect(whole, `the batch of ${first}`).toEqual(at < 0 ? [] : rest);
    return at >= 0;
  };
  const missing = appended.filter(({ append, outcome }) => !isThere(append) && outcome.kind === "committed");
  return new Set(missing.map(({ append }) => append[0])).size;
}
