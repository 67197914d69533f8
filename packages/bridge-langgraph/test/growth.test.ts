import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { growth, MOST_TIMES, many } from "../../store-core/test/growth.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, putValues, valuesOf } from "./checkpoints.ts";

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
  expect(await growth([800, 6_400], run)).toBeLessThan(MOST_TIMES);
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
