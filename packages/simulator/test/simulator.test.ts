import { createStores } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { Random } from "../../../conformance-tests/src/observed/random.ts";
import { faults } from "../src/faults.ts";
import { createMemoryBackend, type Run, runScenario } from "../src/index.ts";
import { Scheduler } from "../src/scheduler.ts";
import { describeFailedRun, shrink } from "../src/shrink.ts";
import { simulate } from "../src/simulate.ts";

describe("the scheduler", () => {
  test("runs events by time, and events of the same time in the order they were added", async () => {
    const scheduler = new Scheduler(100, false);
    const random = new Random("times");
    const given = Array.from({ length: 500 }, (_, index) => ({ time: 100 + random.below(50), index }));
    const seen: typeof given = [];
    for (const event of given) scheduler.at(event.time, () => seen.push(event));
    await scheduler.run();
    expect(seen).toEqual([...given].sort((a, b) => a.time - b.time || a.index - b.index));
    expect(scheduler.now).toBe(Math.max(...given.map(({ time }) => time)));
  });

  test("runs the code resumed by an event up to its next wait before the next event", async () => {
    const scheduler = new Scheduler(0, false);
    const seen: string[] = [];
    const { promise: started, resolve } = Promise.withResolvers<void>();
    const work = async () => {
      await started;
      for (let turn = 0; turn < 20; turn++) await null;
      seen.push("work");
    };
    scheduler.at(1, () => {
      resolve();
      scheduler.settled();
    });
    scheduler.at(1, () => seen.push("next event"));
    await Promise.all([work(), scheduler.run()]);
    expect(seen).toEqual(["work", "next event"]);
  });

  test("ends with the first failure", async () => {
    const scheduler = new Scheduler(0, false);
    scheduler.at(1, () => scheduler.fail(new Error("first")));
    scheduler.at(2, () => scheduler.fail(new Error("second")));
    await expect(scheduler.run()).rejects.toThrow("first");
  });
});

/** Counts the messages that callers add, each in one commit that is sent again until its outcome is known. */
const run =
  (isBroken: boolean): Run =>
  (options) => {
    const added: string[] = [];
    return runScenario(
      {
        name: "counting",
        acts: 30,
        createBackend: (world) => ({
          ...createMemoryBackend(world),
          sweep: () => void world.network.strikes("deletion", 1),
        }),
        create: (world) => ({
          begin(client) {
            const store = createStores(client.driver, {}, { clock: client.clock }).open("thread");
            return async () => {
              const content = `message ${added.length}`;
              added.push(content);
              for (let attempt = 0, isDone = false; !isDone; attempt++) {
                const append = [{ role: "user", content }] as const;
                // A broken caller takes another id for a repeated request.
                const operationId = isBroken ? `${content}, ${attempt}` : content;
                const when = world.interval();
                const ended = await world.call(
                  client,
                  when,
                  () => content,
                  () => store.commit({ append }, { operationId }),
                );
                if (ended.error) world.allow(ended.error, "UNAVAILABLE");
                isDone = !ended.error;
              }
            };
          },
          async checkCalm() {
            for (const { driver, clock } of world.clients) {
              const messages = await createStores(driver, {}, { clock }).open("thread").listMessages();
              if (new Set(messages.map(({ content }) => content)).size < messages.length)
                world.fail("once", "a message is stored twice");
            }
          },
        }),
      },
      options,
    );
  };

test("many runs meet every fault, and a program that is right passes", async () => {
  const report = await simulate(run(false), { steps: 20_000, seed: 1 });
  expect(report.failed).toBeUndefined();
  for (const fault of faults.filter((one) => one !== "wrong clocks"))
    expect(report.counts.get(fault), fault).toBeGreaterThan(0);
});

test("a broken program fails, shrinks and is replayed", async () => {
  const { failed } = await simulate(run(true), { steps: 1_000_000, seed: 1 });
  expect(failed?.rule).toBe("once");
  const smallest = await shrink(run(true), failed?.options ?? { seed: 0 }, "once", Number.POSITIVE_INFINITY);
  expect(smallest.acts).toBeLessThan(10);
  expect(smallest.clients).toBe(1);
  expect(smallest.without?.length).toBeGreaterThan(faults.length / 2);
  const [once, again] = [await run(true)(smallest), await run(true)({ ...smallest, isTraced: true })];
  expect(again).toMatchObject({ hash: once.hash, steps: once.steps, failure: { rule: "once" } });
  const text = describeFailedRun("packages/x/run.ts", smallest, again, 3);
  expect(text).toContain(`--replay --seed ${smallest.seed} --acts ${smallest.acts} --clients 1 --without "`);
  expect(text.split("\n").slice(3)).toEqual(again.trace.slice(-3));
});
