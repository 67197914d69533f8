import type { MessageStore, StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MessageCountingReducer, SummarizingReducer, TruncatingReducer, withReducer } from "../src/index.ts";
import { declareAfterAddTests } from "./after-add.ts";
import { declareBeforeListTests } from "./before-list.ts";
import { history, idsOf, user } from "./messages.ts";
import { summarizer } from "./models.ts";
import { newThread, textOf, truncating } from "./reduced-threads.ts";
import { refusal } from "./rejection.ts";

/** The promises of `withReducer`, on the stores of one backend. */
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
    const thread = () => newThread(stores);

    declareBeforeListTests(thread);
    declareAfterAddTests(thread, () => stores);

    test("each reducer's result is stored and read unchanged", async () => {
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

    test("a stored summary is folded into the next one, and only new messages are sent", async () => {
      const { store } = thread();
      const { model, requests } = summarizer();
      // A new reducer for each add, as after restarts.
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
