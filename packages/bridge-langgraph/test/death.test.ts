import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, putValues, threadIds } from "./checkpoints.ts";

const long = "x".repeat(100_000);
/** Stored in parts, by several commits. */
const huge = "y".repeat(8.5 * 1_024 ** 2);

/** The calls of a process, in order. */
const calls: ((saver: BaseCheckpointSaver) => Promise<unknown>)[] = [
  (saver) => putValues(saver, configOf("t"), "1", { long, n: 1 }),
  (saver) =>
    saver.putWrites(
      configOf("t", "1"),
      [
        ["n", 2],
        ["long", long],
      ],
      "task",
    ),
  (saver) => saver.putWrites(configOf("t", "2"), [["early", long]], "task"),
  (saver) =>
    putValues(saver, configOf("t", "1"), "2", { long: `${long}2`, huge, n: 2 }, { long: 2, huge: 1, n: 2 }),
  (saver) => putValues(saver, configOf("t", undefined, "child"), "3", { n: 3 }),
  (saver) => putValues(saver, configOf("u"), "4", { n: 4 }),
  (saver) => putValues(saver, configOf("t", "absent"), "45", { long, n: 45 }),
  (saver) => saver.deleteThread("t"),
  (saver) => putValues(saver, configOf("t"), "5", { n: 5 }),
];

/** All content visible to a reader, with the large value abbreviated. */
async function seen(saver: BaseCheckpointSaver): Promise<string> {
  const abbreviated = (_key: string, value: unknown) => (value === huge ? "huge" : value);
  return JSON.stringify(await listed(saver.list({})), abbreviated);
}

test("a process that dies between any two requests leaves a call done or not done, and nothing that a deletion misses", async () => {
  // The visible content after each call.
  const whole = new ScrollbackSaver({ stores: createStores(new MemoryDriver()) });
  const states = [await seen(whole)];
  for (const call of calls) {
    await call(whole);
    states.push(await seen(whole));
  }
  expect(new Set(states).size).toBeGreaterThan(6);
  const withoutTimes = (state: string | undefined) => state?.replaceAll(/"ts":"[^"]*"/g, "");
  for (let writes = 0, isDead = true; isDead; writes++) {
    const driver = new MemoryDriver();
    const watched = new WatchedDriver(driver);
    watched.writesLeft = writes;
    const saver = new ScrollbackSaver({ stores: createStores(watched) });
    let done = 0;
    const life = (async () => {
      for (const call of calls) {
        await call(saver);
        done += 1;
      }
    })();
    isDead = await Promise.race([life.then(() => false), watched.death.then(() => true)]);
    const stores = createStores(driver);
    const next = new ScrollbackSaver({ stores });
    const now = withoutTimes(await seen(next));
    const isDeletion = calls[done]?.toString().includes("deleteThread");
    const possible = [states[done], states[done + 1]].map(withoutTimes);
    // A deletion deletes the namespaces of a thread one after the other.
    if (isDeletion) expect(now?.length).toBeLessThanOrEqual(String(possible[0]).length);
    else expect(possible, `after ${writes} writes, ${done} calls`).toContain(now);
    // The next process continues.
    const config = await putValues(next, configOf("t", "1"), "8", { after: true });
    await next.putWrites(config, [["after", true]], "task");
    expect((await next.getTuple(configOf("t")))?.checkpoint.channel_values).toMatchObject({ after: true });
    for (const thread of ["t", "u"]) await next.deleteThread(thread);
    expect(await threadIds(stores), `after ${writes} writes`).toEqual([]);
    expect(await seen(next)).toBe("[]");
  }
});
