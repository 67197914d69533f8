import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, putValues, threadIds, valuesOf } from "./checkpoints.ts";
import { GatedDriver } from "./gated-driver.ts";

const text = (id: string) => `${'{"content":"😀"}'.repeat(200)}${id}`;

/** Another client calls `between` before one request of a call. */
function interrupted(driver: MemoryDriver, between: () => Promise<unknown>) {
  let at = Number.POSITIVE_INFINITY;
  const gate = new GatedDriver(driver, async (request) => {
    if (request !== at) return;
    at = Number.POSITIVE_INFINITY;
    await between();
  });
  return {
    saver: new ScrollbackSaver({ stores: createStores(gate) }),
    /** Returns whether the call had so many requests. */
    async run(after: number, call: () => Promise<unknown>): Promise<boolean> {
      at = gate.requests + after;
      await call();
      const wasReached = at === Number.POSITIVE_INFINITY;
      at = Number.POSITIVE_INFINITY;
      return wasReached;
    },
  };
}

/** Puts ten checkpoints with writes. */
async function fill(saver: ScrollbackSaver): Promise<void> {
  let config = configOf();
  for (let n = 10; n < 20; n++) {
    config = await putValues(saver, config, `${n}`, { text: text(`${n}`) }, { text: n });
    await saver.putWrites(config, [["text", text(`${n} written`)]], "task");
  }
}

const calls: Readonly<Record<string, (saver: ScrollbackSaver) => Promise<unknown>>> = {
  "a put": (saver) => putValues(saver, configOf("t", "19"), "20", { text: text("20") }, { text: 20 }),
  "a put to a dropped checkpoint": (saver) =>
    putValues(saver, configOf("t", "12"), "20", { text: text("20") }, { text: 20 }),
  writes: (saver) => saver.putWrites(configOf("t", "19"), [["text", text("more")]], "other"),
  "writes before their checkpoint": async (saver) => {
    await saver.putWrites(configOf("t", "20"), [["text", text("early")]], "task");
    await putValues(saver, configOf("t", "19"), "20", { text: text("20") }, { text: 20 });
  },
  "a read of the newest checkpoint": async (saver) =>
    expect(await valuesOf(saver, configOf())).toEqual({ text: text("19") }),
  "a list": async (saver) => {
    const ids: string[] = [];
    for await (const { checkpoint } of saver.list(configOf())) {
      ids.push(checkpoint.id);
      expect(checkpoint.channel_values).toEqual({ text: text(checkpoint.id) });
    }
    expect(ids.slice(0, 3)).toEqual(["19", "18", "17"]);
    expect(new Set(ids).size).toBe(ids.length);
  },
};

for (const isCached of [true, false])
  test.each(Object.entries(calls))(
    `%s, with a prune by another client before any of its requests, ${isCached ? "after calls of the same process" : "in a new process"}`,
    async (_, call) => {
      let after = 0;
      for (let wasReached = true; wasReached; after++) {
        const driver = new MemoryDriver();
        const pruner = new ScrollbackSaver({ stores: createStores(driver) });
        const { saver, run } = interrupted(driver, () => pruner.prune({ threadId: "t", keep: 3 }));
        await fill(isCached ? saver : pruner);
        wasReached = await run(after, () => call(saver));
        for (const each of [saver, pruner, new ScrollbackSaver({ stores: createStores(driver) })]) {
          const tuples = await listed(each.list(configOf()));
          expect(tuples.find(({ checkpoint }) => checkpoint.id === "19")).toBeDefined();
          for (const { checkpoint, pendingWrites = [] } of tuples) {
            expect(checkpoint.channel_values).toEqual({ text: text(checkpoint.id) });
            const isWritten = checkpoint.id !== "20" || call === calls["writes before their checkpoint"];
            const isTwice = checkpoint.id === "19" && call === calls.writes;
            expect(pendingWrites, checkpoint.id).toHaveLength(isTwice ? 2 : isWritten ? 1 : 0);
          }
        }
        await pruner.deleteThread("t");
        expect(await threadIds(createStores(driver))).toEqual([]);
      }
      expect(after).toBeGreaterThan(1);
    },
  );

test("writers, prunes and deletions of many processes leave no wrong value and no orphan", async () => {
  for (let round = 0; round < rounds(15, 200); round++) {
    const stores = createMemoryStores();
    const connect = () => new ScrollbackSaver({ stores });
    const savers = Array.from({ length: 5 }, connect);
    const pause = () => sleep(Math.random() * 2);
    await Promise.all(
      savers.map(async (saver, which) => {
        for (let n = 10; n < 20; n++) {
          await pause();
          const id = `${n}-${which}`;
          try {
            if (which === 3) await saver.prune({ threadId: "t", keep: 1 + (n % 3) });
            else if (which === 4 && n % 3 === 0) await saver.deleteThread("t");
            else if (which < 3) {
              await saver.putWrites(configOf("t", id, `${which % 2}`), [["text", text(id)]], "task");
              const parent = n === 10 ? undefined : `${n - 1}-${which}`;
              const config = configOf("t", parent, `${which % 2}`);
              await putValues(saver, config, id, { text: text(id) }, { text: n });
            }
          } catch (error) {
            // Of many writers at once, one may lose too often.
            if (!StoreError.is(error, "CONFLICT")) throw error;
          }
        }
      }),
    );
    for (const { checkpoint, pendingWrites = [] } of await listed(connect().list({}))) {
      expect(checkpoint.channel_values).toEqual({ text: text(checkpoint.id) });
      // The deletion of the thread may have dropped the writes before the checkpoint was put.
      for (const [, , value] of pendingWrites) expect(value).toBe(text(checkpoint.id));
      expect(pendingWrites.length).toBeLessThanOrEqual(1);
    }
    await connect().deleteThread("t");
    expect(await threadIds(stores)).toEqual([]);
  }
});
