import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import { type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { underLoad } from "../src/faults/load.ts";
import { wrapDriver } from "../src/wrapped-driver.ts";

const unavailable = (retryable: boolean) => new StoreError("UNAVAILABLE", "gone for a while", { retryable });

/** A load on memory whose clients have other commits during the fault. */
async function load(commit: (sound: Driver) => Driver["commit"], options: { mayLose?: boolean } = {}) {
  const sound = new MemoryDriver();
  let isUnderFire = false;
  const clients = Array.from({ length: 3 }, () =>
    wrapDriver(sound, {
      commit: (request) => (isUnderFire ? commit(sound)(request) : sound.commit(request)),
      classifyError: () => ({ code: "UNAVAILABLE", message: "gone for a while", retryable: true }),
    }),
  );
  const fault = async () => {
    isUnderFire = true;
    await sleep(150);
    isUnderFire = false;
  };
  return await underLoad(fault, { clients, sound, ...options });
}

const lose: Driver["commit"] = async () => ({ outcome: "committed", revision: "0000000000000000.1" });

test("a load returns its figure on a correct backend, also if commits fail, applied or not", async () => {
  const figure = await load((sound) => async (request) => {
    if (Math.random() < 0.1) throw unavailable(true);
    const outcome = await sound.commit(request);
    if (Math.random() < 0.1) throw unavailable(true);
    return outcome;
  });
  expect(figure).toMatch(/^\d+ commits(, \d+ calls failed)?, longest call \d\.\d s, back in \d\.\d s$/);
});

test("a load counts lost commits where they may be lost, and fails elsewhere", async () => {
  expect(await load(() => lose, { mayLose: true })).toMatch(/, \d+ lost, longest/);
  await expect(load(() => lose)).rejects.toThrow("unexplained observations");
});

test.each<[string, (sound: Driver) => Driver["commit"], string]>([
  [
    "half a commit",
    (sound) => (one) => sound.commit({ ...one, append: one.append.slice(0, 1) }),
    "the batch of",
  ],
  ["an outage that is permanent", () => () => Promise.reject(unavailable(false)), "retryable"],
])("a load fails for %s, also where commits may be lost", async (_, commit, message) => {
  await expect(load(commit, { mayLose: true })).rejects.toThrow(message);
});
