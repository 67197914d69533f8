import { setTimeout as sleep } from "node:timers/promises";
import type { ChatMessage } from "@scrollback/store-core";
import { describe, expect, test, vi } from "vitest";
import { type ChatReducer, TruncatingReducer, withReducer } from "../src/index.ts";
import { history, idsOf, user } from "./messages.ts";
import { meanwhile, merging, type TestThread, textOf, truncating } from "./reduced-threads.ts";
import { refusal, rejection } from "./rejection.ts";

export function declareBeforeListTests(thread: () => TestThread): void {
  describe("beforeList", () => {
    const when = "beforeList";

    test("a list reduces, writes the reduced history back and returns it", async () => {
      const { store, stored } = thread();
      const reduced = withReducer(store, truncating, { when });
      await reduced.addMessages(history("u a u a"));
      expect(await stored()).toBe("u0 a1 u2 a3");
      const listed = await reduced.listMessages();
      expect(idsOf(listed)).toBe("u2 a3");
      expect(await store.listMessages()).toEqual(listed);
    });

    test("a limit applies to the reduced history", async () => {
      const { store, stored } = thread();
      const reduced = withReducer(store, new TruncatingReducer({ targetCount: 3 }), { when });
      await reduced.addMessages(history("s u a u a"));
      expect(idsOf(await reduced.listMessages({ limit: 2 }))).toBe("u3 a4");
      expect(await stored()).toBe("s0 u3 a4");
      expect(idsOf(await reduced.listMessages({ limit: 9 }))).toBe("s0 u3 a4");
      expect(await reduced.listMessages({ limit: 0 })).toEqual([]);
    });

    test("when the reducer returns the same messages, nothing is written", async () => {
      const { store } = thread();
      const copying: ChatReducer = { reduce: async (messages) => structuredClone([...messages]) };
      for (const same of [new TruncatingReducer({ targetCount: 2 }), copying]) {
        const revision = await store.replaceMessages(history("u a"));
        expect(idsOf(await withReducer(store, same, { when }).listMessages())).toBe("u0 a1");
        expect((await store.read()).revision).toBe(revision);
      }
    });

    test("a missing thread is not created", async () => {
      const { store } = thread();
      expect(await withReducer(store, truncating, { when }).listMessages()).toEqual([]);
      expect((await store.read()).revision).toBeNull();
    });

    test("metadata is kept", async () => {
      const { store } = thread();
      await store.commit({ append: history("u a u"), metadata: { title: "Trip" } });
      await withReducer(store, truncating, { when }).listMessages();
      expect(await store.read()).toMatchObject({ metadata: { title: "Trip" }, entries: { length: 2 } });
    });

    test("when another writer commits in between, it restarts on the newer history", async () => {
      const { store, other } = thread();
      await store.addMessages([user("1"), user("2"), user("3"), user("4")]);
      const { interrupted, seen } = meanwhile(
        merging,
        () => other.addMessages([user("5")]),
        () => other.popMessage(),
      );
      const listed = await withReducer(store, interrupted, { when }).listMessages();
      expect(seen).toEqual(["1 2 3 4", "1 2 3 4 5", "1 2 3 4"]);
      expect(textOf(listed)).toBe("1 2 3 4");
      expect(listed).toHaveLength(3);
      expect(await other.listMessages()).toEqual(listed);
    });

    test("when the reducer fails, the list rejects with its error and the stored history is unchanged", async () => {
      const { store, stored } = thread();
      const revision = await store.addMessages(history("u a u"));
      const failure = new Error("no summary today");
      const onError = vi.fn();
      const reduced = withReducer(store, { reduce: () => Promise.reject(failure) }, { when, onError });
      expect(await rejection(reduced.listMessages())).toBe(failure);
      expect(onError).not.toHaveBeenCalled();
      expect(await stored()).toBe("u0 a1 u2");
      expect((await store.read()).revision).toBe(revision);
    });

    test.each([
      [undefined, "result of reducer.reduce() must be an array of messages"],
      [[{ role: "bot", content: "" }], "messages[0]: role"],
    ])(
      "an invalid history from a reducer is refused, and the stored one is unchanged: %j",
      async (invalid, problem) => {
        const { store, stored } = thread();
        await store.addMessages(history("u a u"));
        const reducer = { reduce: async () => invalid as unknown as ChatMessage[] };
        const { message } = await refusal(() => withReducer(store, reducer, { when }).listMessages());
        expect(message).toContain(problem);
        expect(await stored()).toBe("u0 a1 u2");
      },
    );

    test("a signal reaches the reducer, and an abort rejects and does not change the stored history", async () => {
      const { store, stored } = thread();
      await store.addMessages(history("u a u"));
      const controller = new AbortController();
      let given: AbortSignal | undefined;
      const waiting: ChatReducer = {
        async reduce(_, options) {
          given = options?.signal;
          controller.abort();
          return [];
        },
      };
      const reduced = withReducer(store, waiting, { when });
      await refusal(() => reduced.listMessages({ signal: controller.signal }), "ABORTED");
      expect(given).toBe(controller.signal);
      await sleep(20);
      expect(await stored()).toBe("u0 a1 u2");
    });

    test("invalid options of a list are rejected before the reducer runs", async () => {
      const { interrupted, seen } = meanwhile(truncating);
      const reduced = withReducer(thread().store, interrupted, { when });
      for (const invalid of [{ limit: -1 }, { limit: 0.5 }, { last: 3 }, { signal: {} }]) {
        const { message } = await refusal(() => reduced.listMessages(invalid as { limit: number }));
        expect(message).toContain("listMessages: ");
      }
      expect(seen).toEqual([]);
    });

    test("the reducer runs for lists only", async () => {
      const { store } = thread();
      const { interrupted, seen } = meanwhile(truncating);
      const reduced = withReducer(store, interrupted, { when });
      await reduced.addMessages(history("u a u"));
      await reduced.replaceMessages(history("u a u a"));
      await reduced.commit({ drop: 1, append: [user("last")] });
      expect((await reduced.read()).entries).toHaveLength(4);
      expect(textOf([(await reduced.popMessage()) ?? user("none")])).toBe("last");
      expect(seen).toEqual([]);
    });
  });
}
