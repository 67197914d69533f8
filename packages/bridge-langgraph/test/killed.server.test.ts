import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { newServerUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import { writeAndKill } from "../../../conformance-tests/test/fixtures/write-and-kill.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, putValues, threadIds } from "./checkpoints.ts";

const program = new URL("child.ts", import.meta.url);
const ROUNDS = rounds(2, 4);

async function expectWhole(url: string): Promise<void> {
  await using stores = await openTestStores(url);
  for (let round = 0; round < ROUNDS; round++) {
    // Three concurrent processes, which write to the log of one thread.
    const names = ["a", "b", "c"].map((name) => `${name}${round}`);
    const acknowledged = await Promise.all(
      names.map((name) => writeAndKill({ program, args: [url, name], withinMs: 60 })),
    );
    const saver = new ScrollbackSaver({ stores });
    const tuples = await listed(saver.list(configOf("shared")));
    const ids = tuples.map(({ checkpoint }) => checkpoint.id);
    expect(ids).toEqual([...ids].sort().reverse());
    for (const [index, name] of names.entries()) {
      const own = tuples.filter(({ checkpoint }) => checkpoint.channel_values.name === name).reverse();
      const count = acknowledged[index]?.length ?? 0;
      expect([count, count + 1]).toContain(own.length);
      for (const [place, { checkpoint, parentConfig, pendingWrites }] of own.entries()) {
        expect(checkpoint.channel_values.n).toBe(place + 1);
        expect(parentConfig?.configurable?.checkpoint_id).toBe(own[place - 1]?.checkpoint.id);
        if (place < count) expect(pendingWrites).toEqual([[name, "n", place + 1]]);
      }
    }
  }
  const saver = new ScrollbackSaver({ stores });
  await putValues(saver, configOf("other"), "1", {});
  await saver.deleteThread("shared");
  expect((await listed(saver.list({}))).map(({ config }) => config)).toEqual([configOf("other", "1")]);
  await saver.deleteThread("other");
  expect(await threadIds(stores)).toEqual([]);
}

test.concurrent("processes killed at any moment lose no checkpoint and no write, on Redis", async () => {
  await expectWhole(await newServerUrl("Redis"));
}, 240_000);
