import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listedIds, putValues, valuesOf } from "./checkpoints.ts";

test("checkpoints are found and listed by id in whatever order they were written, also after a prune", async () => {
  const ids = fc.array(fc.integer({ min: 10, max: 60 }), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(ids, fc.integer({ min: 1, max: 40 }), async (written, keep) => {
      const stores = createMemoryStores();
      const [saver, connect] = [new ScrollbackSaver({ stores }), () => new ScrollbackSaver({ stores })];
      const last = new Map<string, number>();
      for (const [n, id] of written.entries()) {
        last.set(`${id}`, n);
        await putValues(n % 3 ? saver : connect(), configOf(), `${id}`, { n }, { n });
        await saver.putWrites(configOf("t", `${id}`), [["n", n]], "task");
        await saver.putWrites(configOf("t", `${id}.5`), [["n", n]], "task");
      }
      const check = async (expected: readonly string[]) => {
        expect(await listedIds(connect().list(configOf()))).toEqual(expected);
        expect(await valuesOf(connect(), configOf())).toEqual({ n: last.get(expected[0] ?? "") });
        for (const id of last.keys()) {
          const tuple = await connect().getTuple(configOf("t", id));
          const isThere = expected.includes(id);
          expect(tuple?.checkpoint.channel_values.n).toBe(isThere ? last.get(id) : undefined);
          expect(tuple?.pendingWrites).toEqual(
            isThere ? [["task", "n", written.indexOf(Number(id))]] : undefined,
          );
        }
        expect(await connect().getTuple(configOf("t", "35.7"))).toBeUndefined();
      };
      const sorted = [...last.keys()].sort().reverse();
      await check(sorted);
      const kept = sorted.slice(0, keep);
      expect(await connect().prune({ threadId: "t", keep })).toBe(sorted.length - kept.length);
      await check(kept);
      await putValues(saver, configOf(), "99", { n: -1 });
      last.set("99", -1);
      written.push(99);
      await saver.putWrites(configOf("t", "99"), [["n", written.length - 1]], "task");
      await check(["99", ...kept]);
    }),
    { numRuns: rounds(30, 500), seed: 7 },
  );
});

test("checkpoints out of order cost no reads: a put reads as few messages as in a log in order", async () => {
  const perPut = async (count: number, disorder: (n: number) => number) => {
    const driver = new MemoryDriver();
    const savers = [0, 1].map(() => {
      const watched = new WatchedDriver(driver);
      return { watched, saver: new ScrollbackSaver({ stores: createStores(watched) }) };
    });
    // Two processes that write in turn, each after its own checkpoint.
    const parents = [configOf(), configOf()];
    for (let n = 0; n < count; n++) {
      const which = n % 2;
      const { saver, watched } = savers[which] ?? expect.fail();
      watched.reset();
      parents[which] = await putValues(
        saver,
        parents[which] ?? configOf(),
        `${100_000 + disorder(n)}`,
        { n },
        { n },
      );
    }
    return Math.max(...savers.map(({ watched }) => watched.reads.length));
  };
  const inOrder = await perPut(60, (n) => n * 10);
  expect(await perPut(60, (n) => (n === 30 ? 0 : n * 10))).toBe(inOrder);
  expect(await perPut(60, (n) => n * 10 + (n % 2 ? 15 : 0))).toBe(inOrder);
  expect(await perPut(160, (n) => n * 10 + (n % 2 ? 15 : 0))).toBe(inOrder);
});

test("a prune drops the writes of checkpoints that were dropped before", async () => {
  const driver = new MemoryDriver();
  const saver = new ScrollbackSaver({ stores: createStores(driver) });
  const count = async () => (await createStores(driver).open("langgraph:log:t:").read({ limit: 0 })).count;
  let config = configOf();
  for (let n = 100; n < 200; n++) {
    const before = config;
    config = await putValues(saver, config, `${n}`, { n }, { n });
    await saver.prune({ threadId: "t", keep: 1 });
    // A run that began before.
    if (n > 100) await saver.putWrites(before, [["n", n]], "late");
    await saver.putWrites(configOf("t", `${n + 1}`), [["n", n]], "early");
    expect(await count()).toBeLessThanOrEqual(4);
  }
  expect((await saver.getTuple(config))?.pendingWrites).toEqual([["early", "n", 198]]);
});
