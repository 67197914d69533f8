import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listedIds, putValues, threadIds, valuesOf } from "./checkpoints.ts";
import { GatedDriver } from "./gated-driver.ts";

test("concurrently created threads are all listed, each once", async () => {
  const stores = createMemoryStores();
  const savers = Array.from({ length: 3 }, () => new ScrollbackSaver({ stores }));
  const made = savers.flatMap((saver, which) =>
    Array.from({ length: 50 }, (_, n) => putValues(saver, configOf(`t${n}`), `${which}`, { which })),
  );
  await Promise.all(made);
  expect(await listedIds(new ScrollbackSaver({ stores }).list({}))).toHaveLength(150);
});

test("a thread deleted while it runs is created again with all values, and is deleted by the next call", async () => {
  const stores = createMemoryStores();
  const [runner, other] = [new ScrollbackSaver({ stores }), new ScrollbackSaver({ stores })];
  const long = "x".repeat(100_000);
  const first = await putValues(runner, configOf(), "1", { long, n: 1 });
  await other.deleteThread("t");
  await runner.putWrites(first, [["n", 2]], "task");
  const values = { long, n: 2 };
  const versions = { long: 1, n: 2 };
  const checkpoint = {
    v: 4,
    id: "2",
    ts: "",
    channel_values: values,
    channel_versions: versions,
    versions_seen: {},
  };
  await runner.put(first, checkpoint, { source: "loop", step: 1, parents: {} }, { n: 2 });
  expect(await valuesOf(other, configOf())).toEqual(values);
  expect(await listedIds(other.list({}))).toEqual(["2"]);
  await other.deleteThread("t");
  expect(await threadIds(stores)).toEqual([]);
});

/** Puts checkpoints with a list that grows, in another process. */
async function writeLog(stores: StoreFactory, content: string, count: number): Promise<void> {
  const saver = new ScrollbackSaver({ stores });
  let config = configOf();
  const all: string[] = [];
  for (let n = 100; n < 100 + count; n++) {
    all.push(`${content} ${n}`.padEnd(100, "~"));
    config = await putValues(saver, config, `${n}`, { all });
  }
}

/** Expects a checkpoint of {@link writeLog}, with the list of one call. */
function expectWhole({ checkpoint }: CheckpointTuple): void {
  const all = checkpoint.channel_values.all as string[];
  const [which] = String(all[0]).split(" ");
  expect(all.every((one, index) => one.startsWith(`${which} ${index + 100}`))).toBe(true);
  expect(all).toHaveLength(Number(checkpoint.id) - 99);
}

test("a reader of a log that is deleted and written again meanwhile gets each checkpoint whole, from the one or the other", async () => {
  const stores = createMemoryStores();
  for (const passed of [1, 10, 20, 60]) {
    await writeLog(stores, "before", 100);
    const saver = new ScrollbackSaver({ stores });
    const tuples: CheckpointTuple[] = [];
    for await (const tuple of saver.list(configOf())) {
      tuples.push(tuple);
      if (tuples.length !== passed) continue;
      await new ScrollbackSaver({ stores }).deleteThread("t");
      await writeLog(stores, "after", 100);
    }
    expect(tuples.map(({ checkpoint }) => checkpoint.id)).toEqual(
      Array.from({ length: 100 }, (_, index) => `${199 - index}`),
    );
    for (const tuple of tuples) expectWhole(tuple);
    await saver.deleteThread("t");
  }
});

test("a reader with a cached end of a log that is replaced before its next request reads the new log", async () => {
  for (const [count, id] of [
    [40, 120],
    [150, 120],
    [100, 198],
  ] as const) {
    const driver = new MemoryDriver();
    const stores = createStores(driver);
    await writeLog(stores, "before", 100);
    let replaceAt = Number.POSITIVE_INFINITY;
    const gate = new GatedDriver(driver, async (request) => {
      if (request !== replaceAt) return;
      await new ScrollbackSaver({ stores }).deleteThread("t");
      await writeLog(stores, "after", count);
    });
    const saver = new ScrollbackSaver({ stores: createStores(gate) });
    await saver.getTuple(configOf());
    replaceAt = gate.requests + 1;
    const tuple = await saver.getTuple(configOf("t", `${id}`));
    expect(tuple?.checkpoint.channel_values.all).toEqual(
      Array.from({ length: id - 99 }, (_, index) => `after ${index + 100}`.padEnd(100, "~")),
    );
  }
});
