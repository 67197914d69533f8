import type { StoreState } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { rejection, thrown } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";

export const state: Clause = {
  title: "State",
  declare(test) {
    test("serialize returns plain JSON of the documented shape, with only the settings that are set", async (backend) => {
      const { backend: name, expiry } = backend.driver.capabilities;
      const type = { type: "scrollback.store", version: 1, backend: name };
      const plain = backend.store();
      expect(await plain.serialize()).toStrictEqual({ ...type, threadId: plain.threadId });
      const settings = { maxMessages: 7, trimming: "exact", ...(expiry && { ttlMs: 60_000 }) } as const;
      const set = backend.stores(settings).open('a thread: "{*}" 💬');
      const state = await set.serialize();
      expect(state).toStrictEqual({ ...type, threadId: set.threadId, ...settings });
      expect(JSON.parse(JSON.stringify(state))).toStrictEqual(state);
    });

    test("a state contains no secret, and no messages unless the driver alone keeps them", async (backend) => {
      const store = backend.store();
      await store.commit({ append: [user("secret text")], metadata: { title: "secret title" } });
      const text = JSON.stringify(await store.serialize());
      for (const secret of backend.harness.secrets ?? []) expect(text).not.toContain(secret);
      expect(text.includes("secret"), "content in the state").toBe(backend.driver.exportThread !== undefined);
      if (backend.driver.exportThread) expect(backend.driver.capabilities.sharing).toBe("driver");
    });

    test("a restored store continues where the other was, on any client", async (backend) => {
      const store = backend.store({ maxMessages: 4 });
      await store.commit({ append: numbered(3), metadata: "title" });
      const state: unknown = JSON.parse(JSON.stringify(await store.serialize()));
      const restored = backend.otherStores().restore(state);
      expect(restored.threadId).toBe(store.threadId);
      expect((await restored.read()).metadata).toBe("title");
      await restored.addMessages(numbered(3, "more"));
      expect(await textsIn(store)).toEqual(["message 3", "more 1", "more 2", "more 3"]);
    });

    test("the factory's settings take precedence, the state fills in the rest", async (backend) => {
      const { expiry } = backend.driver.capabilities;
      const saved = { maxMessages: 9, trimming: "exact", ...(expiry && { ttlMs: 60_000 }) } as const;
      const state = await backend.store(saved).serialize();
      expect(await backend.stores().restore(state).serialize()).toMatchObject(saved);
      const given = { maxMessages: 3 };
      expect(await backend.stores(given).restore(state).serialize()).toMatchObject({ ...saved, ...given });
      const all = { maxMessages: 3, trimming: "turns", ...(expiry && { ttlMs: 5_000 }) } as const;
      expect(await backend.stores(all).restore(state).serialize()).toMatchObject(all);
      const moved = backend.stores(given).open();
      await moved.updateFromState(state);
      expect(await moved.serialize()).toMatchObject({ ...saved, ...given });
    });

    test("settings given to open take precedence over the factory's, for that store only", async (backend) => {
      const { expiry } = backend.driver.capabilities;
      const stores = backend.stores({ maxMessages: 9, trimming: "exact" });
      const settings = { maxMessages: 2, trimming: "turns", ...(expiry && { ttlMs: 3_600_000 }) } as const;
      const own = stores.open(undefined, settings);
      const { threadId } = own;
      expect(await own.serialize()).toMatchObject({ threadId, ...settings });
      await own.addMessages(numbered(3));
      expect(await textsIn(own)).toEqual(["message 2", "message 3"]);
      expect("expiresAt" in (await own.read())).toBe(expiry);
      const other = stores.open(threadId, { ttlMs: undefined } as object);
      expect(await other.serialize()).toMatchObject({ threadId, maxMessages: 9, trimming: "exact" });
      await other.addMessages(numbered(4, "more"));
      expect(await textsIn(other)).toHaveLength(6);
      expect("expiresAt" in (await other.read())).toBe(false);
      expect(await textsIn(own), "as the first store reads it").toEqual(["more 3", "more 4"]);
      // A factory without settings restores the store with the settings it was opened with.
      const restored = backend.otherStores().restore(await own.serialize());
      expect(await restored.serialize()).toMatchObject(settings);
      expect(stores.settings).toMatchObject({ maxMessages: 9, trimming: "exact" });
    });

    test("updateFromState switches the store to the state's thread and writes nothing", async (backend) => {
      const there = backend.store();
      await there.addMessages(numbered(2, "there"));
      const state = await there.serialize();
      const before = await there.read();
      const store = backend.store();
      await store.addMessages(numbered(1, "here"));
      const here = store.threadId;
      for (let time = 0; time < 2; time++) {
        await store.updateFromState(state);
        expect(store.threadId).toBe(there.threadId);
        expect(await store.read()).toStrictEqual(before);
      }
      await store.addMessages([user("added")]);
      expect(await textsIn(there)).toEqual(["there 1", "there 2", "added"]);
      expect(await textsIn(backend.stores().open(here))).toEqual(["here 1"]);
    });

    test("updateFromState without a state changes nothing", async (backend) => {
      const store = backend.store({ maxMessages: 5 });
      await store.addMessages(numbered(2));
      const [state, page] = [await store.serialize(), await store.read()];
      for (const nothing of [null, undefined, {}]) await store.updateFromState(nothing);
      expect(await store.serialize()).toStrictEqual(state);
      expect(await store.read()).toStrictEqual(page);
    });

    test("an unknown tag, version or shape fails with INVALID_STATE and changes nothing", async (backend) => {
      const store = backend.store({ maxMessages: 5 });
      await store.addMessages(numbered(2));
      const [good, page] = [await store.serialize(), await store.read()];
      const other = { ...good, threadId: "other" };
      const foreign: [unknown, string][] = [
        [{ ...other, type: "other.store" }, "type"],
        [{ threadId: "other" }, "type"],
        [{ ...other, version: 2 }, "version"],
        [{ ...other, version: "1" }, "version"],
        [{ ...other, backend: "elsewhere" }, "backend"],
        [{ ...other, backend: undefined }, "backend"],
        [{ ...other, threadId: "" }, "threadId"],
        [{ ...other, threadId: 7 }, "threadId"],
        [{ ...other, threadId: "x".repeat(1_025) }, "threadId"],
        [{ ...other, threadId: "\ud800" }, "threadId"],
        [{ ...other, maxMessages: 0 }, "maxMessages"],
        [{ ...other, maxMessages: "5" }, "maxMessages"],
        [{ ...other, trimming: "some" }, "trimming"],
        [{ ...other, ttlMs: -1 }, "ttlMs"],
        [[good], "state"],
        ["state", "state"],
        [7, "state"],
      ];
      for (const [state, field] of foreign) {
        expect((await rejection(store.updateFromState(state), "INVALID_STATE")).message).toContain(field);
        expect(thrown(() => backend.stores().restore(state), "INVALID_STATE").message).toContain(field);
      }
      expect(await store.serialize()).toStrictEqual(good);
      expect(await store.read()).toStrictEqual(page);
    });

    test("restore without a state fails with INVALID_STATE", async (backend) => {
      for (const nothing of [null, undefined, {}, "", []]) {
        thrown(() => backend.stores().restore(nothing), "INVALID_STATE");
      }
    });

    test("a state with ttlMs is refused only where threads cannot expire", async (backend) => {
      const state: StoreState = { ...(await backend.store().serialize()), ttlMs: 1_000 };
      if (backend.driver.capabilities.expiry) {
        expect(await backend.stores().restore(state).serialize()).toMatchObject({ ttlMs: 1_000 });
      } else {
        thrown(() => backend.stores().restore(state), "UNSUPPORTED");
        await rejection(backend.store().updateFromState(state), "UNSUPPORTED");
      }
    });

    test("serialize, restore and updateFromState send no request", async (backend) => {
      const store = backend.store();
      await store.addMessages(numbered(1));
      await backend.withoutRequests(async () => {
        const state = await store.serialize();
        backend.stores().restore(state);
        await store.updateFromState(state);
      });
    });

    test("a state with messages restores the whole thread, also in another driver", async (backend) => {
      backend.requireStateWithMessages();
      const store = backend.store();
      await store.commit({ append: numbered(3), metadata: { title: "kept" } });
      const state: unknown = JSON.parse(JSON.stringify(await store.serialize()));
      const elsewhere = createStores((await backend.freshHarness()).driver);
      const restored = elsewhere.restore(state);
      expect(await textsIn(restored)).toEqual(["message 1", "message 2", "message 3"]);
      expect((await restored.read()).metadata).toStrictEqual({ title: "kept" });
      // If the thread already exists, it has precedence: its messages are not added again.
      await restored.addMessages([user("more")]);
      await elsewhere.open().updateFromState(state);
      expect(await textsIn(elsewhere.restore(state))).toEqual([
        "message 1",
        "message 2",
        "message 3",
        "more",
      ]);
      // The state of a thread that was never written does not create a thread.
      const empty = elsewhere.restore(await backend.store().serialize());
      expect(await empty.read()).toStrictEqual({ entries: [], revision: null, count: 0 });
    });
  },
};
