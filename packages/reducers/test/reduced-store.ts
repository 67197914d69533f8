import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChatMessage, MessageStore, StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type ChatReducer,
  MessageCountingReducer,
  SummarizingReducer,
  TruncatingReducer,
  withReducer,
} from "../src/index.ts";
import { assistant, history, idsOf, user } from "./messages.ts";
import { summarizer } from "./models.ts";
import { refusal, rejection } from "./rejection.ts";

const truncating = new TruncatingReducer({ targetCount: 2 });

/** Merges the older messages into one, so that whatever is lost on the way is missed. */
const merging: ChatReducer = {
  async reduce(messages) {
    if (messages.length <= 3) return [...messages];
    const merged = messages.slice(0, -2).map(({ content }) => content);
    return [assistant(merged.join(" ")), ...messages.slice(-2)];
  },
};
const textOf = (messages: readonly ChatMessage[]) => messages.map(({ content }) => content).join(" ");

/** A reducer that runs something before its first reductions. */
function meanwhile(reducer: ChatReducer, ...steps: (() => Promise<unknown>)[]) {
  const seen: string[] = [];
  const interrupted: ChatReducer = {
    async reduce(messages, options) {
      seen.push(textOf(messages));
      await steps.shift()?.();
      return await reducer.reduce(messages, options);
    },
  };
  return { interrupted, seen };
}

/** What `withReducer` promises, on the stores of one backend. */
export function declareReducedStoreTests(
  name: string,
  open: () => StoreFactory | Promise<StoreFactory>,
): void {
  describe(`withReducer on ${name}`, () => {
    let stores: StoreFactory;
    beforeAll(async () => {
      stores = await open();
      await stores.setup();
    });
    afterAll(() => stores?.close());

    /** Two stores of one thread, and the thread's messages as the backend has them. */
    const thread = () => {
      const threadId = `thread ${randomUUID()}`;
      const [store, other] = [stores.open(threadId), stores.open(threadId)];
      return { store, other, stored: async () => idsOf(await other.listMessages()) };
    };

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

      test("when the reducer gives back the same messages, nothing is written", async () => {
        const { store } = thread();
        const copying: ChatReducer = { reduce: async (messages) => structuredClone([...messages]) };
        for (const same of [new TruncatingReducer({ targetCount: 2 }), copying]) {
          const revision = await store.replaceMessages(history("u a"));
          expect(idsOf(await withReducer(store, same, { when }).listMessages())).toBe("u0 a1");
          expect((await store.read()).revision).toBe(revision);
        }
      });

      test("a thread that is not there stays so", async () => {
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

      test("when another writer came between, it starts over on the newer history", async () => {
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

      test("when the reducer fails, the list rejects with its error and the stored history is as it was", async () => {
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
        [undefined, "reducer.reduce must return an array"],
        [[{ role: "bot", content: "" }], "messages[0]: role"],
      ])("what is no history is refused, and the stored one is as it was: %j", async (wrong, problem) => {
        const { store, stored } = thread();
        await store.addMessages(history("u a u"));
        const reducer = { reduce: async () => wrong as unknown as ChatMessage[] };
        const { message } = await refusal(() => withReducer(store, reducer, { when }).listMessages());
        expect(message).toContain(problem);
        expect(await stored()).toBe("u0 a1 u2");
      });

      test("a signal reaches the reducer, and an abort rejects and leaves the stored history as it was", async () => {
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

      test("wrong options of a list are refused before the reducer runs", async () => {
        const { interrupted, seen } = meanwhile(truncating);
        const reduced = withReducer(thread().store, interrupted, { when });
        for (const wrong of [{ limit: -1 }, { limit: 0.5 }, { last: 3 }, { signal: {} }]) {
          const { message } = await refusal(() => reduced.listMessages(wrong as { limit: number }));
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

      test("when the reducer gives back the same messages, the add is the only commit", async () => {
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

      test("when another writer came between, it starts over on the newer history", async () => {
        const { store, other } = thread();
        const { interrupted, seen } = meanwhile(merging, () => other.addMessages([user("5")]));
        const reduced = withReducer(store, interrupted, { when });
        const revision = await reduced.addMessages([user("1"), user("2"), user("3"), user("4")]);
        expect(seen).toEqual(["1 2 3 4", "1 2 3 4 5"]);
        expect(textOf(await other.listMessages())).toBe("1 2 3 4 5");
        expect((await other.read()).revision).toBe(revision);
      });

      test("no message is lost to a reduction, or doubled, by any number of writers", async () => {
        const { store, other } = thread();
        const writers = [store, other, stores.open(store.threadId)].map((one) =>
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

      test("when the reducer fails, the add stands, and the error goes to onError", async () => {
        const { store, stored } = thread();
        const failure = new Error("no summary today");
        const onError = vi.fn();
        const reduced = withReducer(store, { reduce: () => Promise.reject(failure) }, { when, onError });
        const revision = await reduced.addMessages(history("u a u"));
        expect(onError.mock.calls).toEqual([[failure]]);
        expect(await stored()).toBe("u0 a1 u2");
        expect((await store.read()).revision).toBe(revision);
      });

      test("so it does when a signal is aborted while the reducer runs", async () => {
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

      test("an error goes to a process warning where there is no onError", async () => {
        const cause = new Error("no summary today");
        const emitted = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
        try {
          const failing = { reduce: () => Promise.reject(cause) };
          await withReducer(thread().store, failing, { when }).addMessages([user("hunter2")]);
          expect(emitted).toHaveBeenCalledOnce();
          const warning = emitted.mock.calls[0]?.[0] as Error;
          expect(warning).toMatchObject({ name: "ScrollbackWarning", cause });
          expect(warning.message).toContain("after an add, which stands");
          expect(warning.message).not.toContain("hunter2");
        } finally {
          emitted.mockRestore();
        }
      });

      test("what onError throws rejects the call; the add stands all the same", async () => {
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

    test("each reducer's result is stored and read as it was made", async () => {
      const { model, requests } = summarizer();
      const messages = history("s u c:x r:x a u q:y Y:y r:y a u a");
      const reducers = [
        new MessageCountingReducer({ targetCount: 3 }),
        new TruncatingReducer({ targetCount: 4 }),
        new SummarizingReducer({ model, targetCount: 2 }),
      ];
      for (const reducer of reducers) {
        const { store } = thread();
        const reduced = withReducer(store, reducer, { when: "afterAdd" });
        await reduced.addMessages(messages);
        expect(await store.listMessages()).toEqual(await reducer.reduce(messages));
      }
      expect(requests).toHaveLength(1);
    });

    test("a summary that was stored is folded into the next one, and only what is new is sent", async () => {
      const { store } = thread();
      const { model, requests } = summarizer();
      // A reducer of its own for every add, as after restarts.
      const add = (texts: string[]) =>
        withReducer(store, new SummarizingReducer({ model, targetCount: 2 }), {
          when: "afterAdd",
        }).addMessages(texts.map(user));
      await add(["1", "2", "3", "4"]);
      await add(["5", "6"]);
      expect(textOf(await store.listMessages())).toBe("summary 2 5 6");
      expect(requests.map(({ messages }) => textOf(messages))).toEqual(["1 2", "summary 1 3 4"]);
    });

    test("serialize, updateFromState, threadId and disposal are those of the store", async () => {
      const { store } = thread();
      const reduced = withReducer(store, truncating, { when: "beforeList" });
      await reduced.addMessages(history("u"));
      expect(await reduced.serialize()).toEqual(await store.serialize());
      expect(reduced.threadId).toBe(store.threadId);
      const second = thread().store;
      await second.addMessages(history("a"));
      await reduced.updateFromState(await second.serialize());
      expect(reduced.threadId).toBe(second.threadId);
      expect(idsOf(await reduced.listMessages())).toBe("a0");
      const calls: ((one: MessageStore) => Promise<unknown>)[] = [
        (one) => one.listMessages(),
        (one) => one.addMessages(history("u")),
        (one) => one.read(),
      ];
      await reduced[Symbol.asyncDispose]();
      for (const call of calls) await refusal(() => call(reduced), "CLOSED");
      await refusal(() => store.listMessages(), "CLOSED");
    });
  });
}
