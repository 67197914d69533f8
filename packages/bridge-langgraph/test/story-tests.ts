import { MemorySaver } from "@langchain/langgraph-checkpoint";
import type { StoreFactory } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, listedIds, putValues } from "./checkpoints.ts";
import { framework } from "./framework.ts";
import { type Durability, tellStory } from "./story.ts";

/** On a busy machine a server may need 1 second per step. */
const TIMEOUT_MS = 240_000;
const durabilities: Durability[] = ["sync", "async", "exit"];

/** Tests for each backend in addition to LangGraph's suite. Each `openStores` opens another client of the same threads. */
export function declareStoryTests(name: string, openStores: () => Promise<StoreFactory>): void {
  describe(`on ${name}`, countedTests(framework, name), () => {
    test.each(durabilities)(
      "a story equals LangGraph's own, step by step, with durability %s",
      async (durability) => {
        const memorySaver = new MemorySaver();
        const expected = await tellStory(() => memorySaver, durability);
        await using stores = await openStores();
        const story = await tellStory(() => new ScrollbackSaver({ stores, prefix: durability }), durability);
        for (const [index, step] of expected.entries()) expect(story[index]).toEqual(step);
        expect(await threadsOf(stores, `${durability}:`)).toEqual([]);
      },
    );

    test(
      "a value of 17 MiB is stored, and concurrent clients lose nothing",
      async () => {
        await using stores = await openStores();
        await using others = await openStores();
        const prefix = "races";
        const savers = [stores, stores, others].map((one) => new ScrollbackSaver({ stores: one, prefix }));
        const huge = "é".repeat(8.5 * 1_024 ** 2);
        await Promise.all(
          savers.map(async (saver, which) => {
            let config = configOf();
            for (let n = 0; n < 5; n++) {
              const values = n === 2 && which === 2 ? { huge } : { which, n, long: "x".repeat(40_000) };
              config = await putValues(saver, config, `${n}-${which}`, values);
              await saver.putWrites(config, [["n", n]], `task ${which}`);
            }
          }),
        );
        const [saver = new ScrollbackSaver({ stores, prefix })] = savers;
        const tuples = await listed(saver.list(configOf()));
        const ids = [4, 3, 2, 1, 0].flatMap((n) => [2, 1, 0].map((which) => `${n}-${which}`));
        expect(tuples.map(({ checkpoint }) => checkpoint.id)).toEqual(ids);
        const found = tuples.find(({ checkpoint }) => checkpoint.id === "2-2")?.checkpoint.channel_values
          .huge;
        expect(found === huge).toBe(true);
        expect(tuples.every(({ pendingWrites }) => pendingWrites?.length === 1)).toBe(true);
        await saver.deleteThread("t");
        expect(await listedIds(saver.list({}))).toEqual([]);
        expect(await threadsOf(stores, "races:")).toEqual([]);
      },
      TIMEOUT_MS,
    );
  });
}

/** The ids of all threads that begin with `prefix`: a page may be empty when the server holds other threads. */
async function threadsOf(stores: StoreFactory, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { threadId } of stores.iterateThreads({ prefix })) found.push(threadId);
  return found;
}
