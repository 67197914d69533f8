import { expect } from "vitest";
import type { Clause } from "../clause.ts";
import { numbered, textsIn } from "../messages/messages.ts";
import { expectExplained, observeHere } from "../observed/run.ts";

const seedOf = () => process.env.CONFORMANCE_SEED ?? crypto.randomUUID();

// Clients in several processes, which are killed, are the test of the history.
export const concurrency: Clause = {
  title: "Concurrency",
  declare(test) {
    test("many writers and readers on several clients lose, double and interleave nothing", async (backend) => {
      const seed = seedOf();
      const run = await observeHere(backend, { seed, seconds: 1.5, actions: 3, pauseMs: 1 });
      await expectExplained(run, `seed ${seed},`);
      expect(run.observations.length, "observations").toBeGreaterThan(20);
    });

    test("writers over failing connections lose and double nothing", async (backend) => {
      const faults = backend.requireNetwork();
      const seed = seedOf();
      await expectExplained(
        await observeHere(backend, { seed, seconds: 3, actions: 3, pauseMs: 5 }, faults),
        `seed ${seed},`,
      );
    });

    test("writers of many threads do not affect each other", async (backend) => {
      const clients = [backend.stores(), backend.otherStores()];
      const written = Array.from({ length: 30 }, async (_, index) => {
        const store = (clients[index % 2] ?? backend.stores()).open();
        for (let batch = 0; batch < 3; batch++) await store.addMessages(numbered(2, `${index}`, 2 * batch));
        expect(await textsIn(store)).toEqual(Array.from({ length: 6 }, (_, number) => `${index} ${number}`));
      });
      await Promise.all(written);
    });
  },
};
