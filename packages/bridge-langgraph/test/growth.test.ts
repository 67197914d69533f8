import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { growth, MOST_TIMES, many } from "../../../packages/store-core/test/growth.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, putValues, valuesOf } from "./checkpoints.ts";

/** Puts a checkpoint, and then one with the first channel changed, which another process reads. */
async function putTwice(values: Record<string, unknown>): Promise<void> {
  const stores = createMemoryStores();
  const saver = new ScrollbackSaver({ stores });
  const [first = ""] = Object.keys(values);
  const root = await putValues(saver, configOf(), "1", values);
  const versions = Object.fromEntries(
    Object.keys(values).map((channel) => [channel, channel === first ? 2 : 1]),
  );
  await putValues(saver, root, "2", { ...values, [first]: "changed" }, versions);
  await valuesOf(new ScrollbackSaver({ stores }), configOf());
}

test("the cost of a put and a read grows linearly with the number of channels", async () => {
  const text = "x".repeat(60);
  const run = (channels: number) =>
    putTwice(
      Object.fromEntries(many(channels, (index) => [`c${index}`, { text: `value ${index} ${text}` }])),
    );
  expect(await growth([400, 6_400], run)).toBeLessThan(MOST_TIMES);
});

test("the cost of a put and a read with a large document grows by little with the number of small channels beside it", async () => {
  const document = many(1_000, (id) => ({ id, name: `item ${id}`, tags: ["a", `b${id}`] }));
  const run = (channels: number) =>
    putTwice({
      n: 1,
      document,
      ...Object.fromEntries(many(channels, (index) => [`c${index}`, `value ${index}`])),
    });
  expect(await growth([2, 64], run)).toBeLessThan(4);
});

/** Stores with a list of which an element was edited so many times: in place, and with an end that moves all after it. */
async function edited(edits: number) {
  const stores = createMemoryStores();
  const saver = new ScrollbackSaver({ stores });
  const tasks = many(200, (id) => ({ id, name: `task ${id} ${"t".repeat(400)}`, done: 0 }));
  let config = configOf();
  for (let n = 1; n <= edits; n++) {
    const task = tasks[(n * 7_919) % tasks.length];
    if (task) Object.assign(task, { done: n, name: `${task.name}!` });
    config = await putValues(saver, config, `${10_000 + n}`, { tasks }, { tasks: n });
  }
  return stores;
}

test("the cost of a list grows linearly with the edits since a value was stored whole", async () => {
  const sizes = [50, 800] as const;
  const stores = new Map<number, Awaited<ReturnType<typeof edited>>>();
  for (const edits of sizes) stores.set(edits, await edited(edits));
  const run = async (edits: number) => {
    const of = stores.get(edits);
    if (of) await listed(new ScrollbackSaver({ stores: of }).list(configOf(), { limit: 16 }));
  };
  expect(await growth(sizes, run)).toBeLessThan(MOST_TIMES / 2);
});

test("the cost of a prune grows linearly with the number of checkpoints", async () => {
  const costs: number[] = [];
  for (const edits of [50, 800]) {
    const before = await edited(edits);
    const begin = process.threadCpuUsage();
    await new ScrollbackSaver({ stores: before }).prune({ threadId: "t", keep: edits / 2 });
    const { user, system } = process.threadCpuUsage(begin);
    costs.push(user + system);
  }
  const [few = 0, more = 0] = costs;
  expect(more / Math.max(10_000, few)).toBeLessThan(MOST_TIMES);
});
