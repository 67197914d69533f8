import { setTimeout as sleep } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import { rejection } from "../checks/errors.ts";
import { meanwhile } from "../checks/meanwhile.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, textsOf, user } from "../messages/messages.ts";

export const atomicCommit: Clause = {
  title: "Atomic commit",
  declare(test) {
    test("what a commit drops, appends and sets becomes visible together", async (backend) => {
      const store = backend.store();
      const reader = backend.otherStores().open(store.threadId);
      const write = async () => {
        for (let generation = 1; generation <= 25; generation++) {
          await store.commit({
            drop: "all",
            append: numbered((generation % 4) + 1, `generation ${generation}`),
            metadata: { generation },
          });
        }
      };
      const read = async () => {
        const { entries, metadata } = await reader.read();
        if (entries.length === 0) return;
        const { generation } = metadata as { generation: number };
        expect(textsOf(entries.map(({ message }) => message))).toEqual(
          textsOf(numbered((generation % 4) + 1, `generation ${generation}`)),
        );
      };
      await meanwhile(write(), read, read);
    });

    test("a read of many pages returns one revision, never a mix of two", async (backend) => {
      // About 1.5 MB: more than a page of any known backend.
      const generation = (number: number) =>
        Array.from({ length: 1_500 }, (_, index) => user(`${number}/${index}/${"x".repeat(1_000)}`));
      const store = backend.store();
      const reader = backend.otherStores().open(store.threadId);
      await store.addMessages(generation(0));
      const write = async () => {
        for (let number = 1; number <= 3; number++) {
          await store.replaceMessages(generation(number));
          await sleep(10);
        }
      };
      const read = async () => {
        const texts = await textsIn(reader);
        expect(texts).toHaveLength(1_500);
        const seen = new Set(texts.map((text) => text.split("/")[0]));
        expect([...seen], "generations in one reading").toHaveLength(1);
      };
      await meanwhile(write(), read);
    });

    test("a refused commit changes nothing", async (backend) => {
      const store = backend.store();
      await store.commit({ append: numbered(3), metadata: { title: "kept" } }, { operationId: "used" });
      const before = await store.read();
      const change = { drop: 1, append: [user("new")], metadata: { title: "new" } };
      await rejection(store.commit(change, { expectedRevision: null }), "CONFLICT");
      await rejection(store.commit(change, { operationId: "used" }), "CONFLICT");
      await rejection(
        store.commit({ ...change, append: [user("good"), { role: "user", content: [null as never] }] }),
        "INVALID_ARGUMENT",
      );
      await rejection(store.commit({ ...change, metadata: () => {} }), "INVALID_ARGUMENT");
      expect(await store.read()).toStrictEqual(before);
    });

    test("a connection cut during a request leaves the whole commit or nothing of it", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(1, "first"));
      for (const afterBytes of [0, 1, 40, 3_000, 70_000, 150_000]) {
        const batch = Array.from({ length: 40 }, (_, index) => ({
          ...user(`${afterBytes}/${index}`),
          metadata: "x".repeat(5_000),
        }));
        const { strikes } = proxy.counters;
        proxy.set({ kind: "cut-request", afterBytes });
        const controller = new AbortController();
        const add = store.addMessages(batch, { signal: controller.signal });
        const rejected = rejection(add, "ABORTED", "UNAVAILABLE");
        await vi.waitFor(() => expect(proxy.counters.strikes, "cuts").toBeGreaterThan(strikes), {
          timeout: 45_000,
          interval: 5,
        });
        controller.abort();
        await rejected;
        proxy.set({ kind: "pass" });
        // A cancelled commit may still arrive, whole.
        const texts = await textsIn(backend.stores().open(store.threadId));
        const arrived = texts.filter((text) => text.startsWith(`${afterBytes}/`));
        if (arrived.length > 0) expect(arrived).toEqual(batch.map(({ content }) => content));
      }
    });
  },
};
