import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { describe, expect, test, vi } from "vitest";
import { type ChatReducer, withReducer } from "../src/index.ts";
import { history, idsOf, user } from "./messages.ts";
import { meanwhile, merging, type TestThread, textOf, truncating } from "./reduced-threads.ts";
import { refusal, rejection } from "./rejection.ts";

export function declareAfterAddTests(thread: () => TestThread, stores: () => StoreFactory): void {
  describe("afterAdd", () => {
    const when = "afterAdd";

    test("every write that appends reduces, and returns the revision of the last commit", async () => {
      const { store, stored } = thread();
      const reduced = withReducer(store, truncating, { when });
      const writes: [() => Promise<string | null>, string][] = [
        [() => reduced.addMessages(history("u a u")), "a1 u2"],
        [() => reduced.replaceMessages(history("s u a u")), "s0 u3"],
        [() => reduced.commit({ drop: 1, append: history("u a u") }), "s0 u2"],
      ];
      for (const [write, expected] of writes) {
        const revision = await write();
        expect(await stored()).toBe(expected);
        expect((await store.read()).revision).toBe(revision);
      }
    });

    test("when the reducer returns the same messages, the add is the only commit", async () => {
      const { store } = thread();
      const first = await withReducer(store, truncating, { when }).addMessages(history("u"));
      const { revision } = await store.read();
      expect(first).toBe(revision);
      await store.addMessages(history("u"), { expectedRevision: first });
    });

    test("a write that appends nothing does not reduce", async () => {
      const { store, stored } = thread();
      await store.addMessages(history("u a u a"));
      const { interrupted, seen } = meanwhile(truncating);
      const reduced = withReducer(store, interrupted, { when });
      const before = (await store.read()).revision;
      expect(await reduced.addMessages([])).toBe(before);
      await reduced.commit({ metadata: "title" });
      await reduced.commit({ drop: 1 });
      expect(await stored()).toBe("u0 a1 u2");
      await reduced.replaceMessages([]);
      await reduced.clear();
      expect(seen).toEqual([]);
    });

    test("options of a write hold for the add: operation id, expected revision", async () => {
      const { store, stored } = thread();
      const reduced = withReducer(store, truncating, { when });
      await reduced.addMessages(history("u a u"), { operationId: "one", expectedRevision: null });
      await reduced.addMessages(history("u a u"), { operationId: "one" });
      expect(await stored()).toBe("a1 u2");
      await refusal(() => reduced.addMessages(history("u"), { expectedRevision: null }), "CONFLICT");
      await refusal(() => reduced.addMessages(undefined as never));
      expect(await stored()).toBe("a1 u2");
    });

    test("when another writer commits in between, it restarts on the newer history", async () => {
      const { store, other } = thread();
      const { interrupted, seen } = meanwhile(merging, () => other.addMessages([user("5")]));
      const reduced = withReducer(store, interrupted, { when });
      const revision = await reduced.addMessages([user("1"), user("2"), user("3"), user("4")]);
      expect(seen).toEqual(["1 2 3 4", "1 2 3 4 5"]);
      expect(textOf(await other.listMessages())).toBe("1 2 3 4 5");
      expect((await other.read()).revision).toBe(revision);
    });

    test("no reduction loses or doubles a message, with any number of writers", async () => {
      const { store, other } = thread();
      const writers = [store, other, stores().open(store.threadId)].map((one) =>
        withReducer(one, merging, { when }),
      );
      await Promise.all(
        writers.map(async (writer, index) => {
          for (let round = 0; round < 8; round++) await writer.addMessages([user(`${index}-${round}`)]);
        }),
      );
      const kept = await other.listMessages();
      expect(kept.length).toBeLessThanOrEqual(3);
      const texts = textOf(kept).split(" ");
      const expected = [0, 1, 2].flatMap((index) =>
        Array.from({ length: 8 }, (_, round) => `${index}-${round}`),
      );
      expect([...texts].sort()).toEqual(expected.sort());
      for (const index of [0, 1, 2]) {
        const own = texts.filter((text) => text.startsWith(`${index}-`));
        expect(own).toEqual(Array.from({ length: 8 }, (_, round) => `${index}-${round}`));
      }
    });

    test("when the reducer fails, the add is kept, and the error is passed to onError", async () => {
      const { store, stored } = thread();
      const failure = new Error("no summary today");
      const onError = vi.fn();
      const reduced = withReducer(store, { reduce: () => Promise.reject(failure) }, { when, onError });
      const revision = await reduced.addMessages(history("u a u"));
      expect(onError.mock.calls).toEqual([[failure]]);
      expect(await stored()).toBe("u0 a1 u2");
      expect((await store.read()).revision).toBe(revision);
    });

    test("when a signal is aborted during the reducer, the add is kept, and the error is passed to onError", async () => {
      const { store, stored } = thread();
      const controller = new AbortController();
      const onError = vi.fn();
      const waiting: ChatReducer = {
        reduce: () => {
          controller.abort();
          return new Promise(() => undefined);
        },
      };
      const reduced = withReducer(store, waiting, { when, onError });
      const revision = await reduced.addMessages(history("u"), { signal: controller.signal });
      expect((await store.read()).revision).toBe(revision);
      expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: "ABORTED" }));
      expect(await stored()).toBe("u0");
    });

    test("an error becomes a process warning if there is no onError", async () => {
      const cause = new Error("no summary today");
      const emitted = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
      try {
        const failing = { reduce: () => Promise.reject(cause) };
        await withReducer(thread().store, failing, { when }).addMessages([user("hunter2")]);
        expect(emitted).toHaveBeenCalledOnce();
        const warning = emitted.mock.calls[0]?.[0] as Error;
        expect(warning).toMatchObject({ name: "ScrollbackWarning", cause });
        expect(warning.message).toContain("reducing failed after a write, which is stored");
        expect(warning.message).not.toContain("hunter2");
      } finally {
        emitted.mockRestore();
      }
    });

    test("an error of onError rejects the call; the add is kept", async () => {
      const { store, stored } = thread();
      const failure = new Error("no summary today");
      const onError = (error: unknown) => {
        throw error;
      };
      const reduced = withReducer(store, { reduce: () => Promise.reject(failure) }, { when, onError });
      expect(await rejection(reduced.addMessages(history("u")))).toBe(failure);
      expect(await stored()).toBe("u0");
    });

    test("the reducer runs for adds only", async () => {
      const { store } = thread();
      await store.addMessages(history("u a u a"));
      const { interrupted, seen } = meanwhile(truncating);
      const reduced = withReducer(store, interrupted, { when });
      expect(idsOf(await reduced.listMessages())).toBe("u0 a1 u2 a3");
      expect(idsOf(await reduced.listMessages({ limit: 1 }))).toBe("a3");
      expect((await reduced.read()).entries).toHaveLength(4);
      expect(idsOf([(await reduced.popMessage()) as ChatMessage])).toBe("a3");
      expect(seen).toEqual([]);
    });
  });
}
