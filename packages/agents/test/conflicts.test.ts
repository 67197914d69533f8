import { createMemoryStores, StoreError, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, test } from "vitest";
import { ChatAgent, type ThreadStore } from "../src/index.ts";
import { asked, failureOf, lines, scripted } from "./models.ts";
import { ways } from "./ways.ts";

let stores: StoreFactory;
beforeEach(() => {
  stores = createMemoryStores();
});

const listOf = async (threadId: string) => lines(await stores.open(threadId).listMessages());

describe.each(Object.entries(ways))("%s", (_name, runIt) => {
  test("the second of two concurrent runs on one thread object is rejected at its start", async () => {
    let answer = (_: string) => {};
    const waiting = new Promise<string>((resolve) => {
      answer = resolve;
    });
    const model = scripted(() => waiting);
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const first = runIt(agent, "one", { thread });
    const second = await failureOf(runIt(agent, "two", { thread }));
    expect(StoreError.is(second, "CONFLICT")).toBe(true);
    expect((second as Error).message).toContain("another run is active");
    answer("done");
    await first;
    await runIt(agent, "three", { thread });
    expect(await listOf("t")).toEqual(["user: one", "assistant: done", "user: three", "assistant: done"]);
  });

  test("a run whose thread was changed by another writer is rejected at its write and stores no answer", async () => {
    const model = scripted(async () => {
      await stores.open("t").addMessages([{ role: "user", content: "in between" }]);
      return "too late";
    });
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    const error = await failureOf(runIt(agent, "one", { thread }));
    expect(StoreError.is(error, "CONFLICT")).toBe(true);
    expect((error as Error).message).toContain("another writer changed it since");
    expect(await listOf("t")).toEqual(["user: one", "user: in between"]);
  });

  test("one of two first runs on a new thread, from two thread objects, is stored", async () => {
    let calls = 0;
    const model = scripted(async () => {
      calls += 1;
      return "answer";
    });
    const agent = new ChatAgent({ model });
    const outcomes = await Promise.allSettled(
      ["A", "B"].map((name) =>
        runIt(agent, name, { thread: agent.getNewThread({ messageStore: stores.open("t") }) }),
      ),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(calls, "the other fails before its model call").toBe(1);
    expect(await listOf("t")).toHaveLength(2);
  });

  test("a store that shortens its history when it is listed does not cause a conflict", async () => {
    const store = stores.open("t");
    await store.addMessages(["1", "2", "3", "4"].map((content) => ({ role: "user", content })));
    const shortening: ThreadStore = {
      addMessages: (...args) => store.addMessages(...args),
      serialize: () => store.serialize(),
      updateFromState: (state) => store.updateFromState(state),
      listMessages: async () => {
        const messages = await store.listMessages();
        if (messages.length > 2) await store.replaceMessages(messages.slice(-2));
        return messages.slice(-2);
      },
    };
    const model = scripted("a", "b");
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({
      messageStore: Object.assign(shortening, { read: store.read.bind(store) }),
    });
    await runIt(agent, "5", { thread });
    expect(asked(model)).toEqual(["user: 3", "user: 4", "user: 5"]);
    await runIt(agent, "6", { thread });
    expect(asked(model)).toEqual(["user: 5", "assistant: a", "user: 6"]);
    expect(await listOf("t")).toEqual(["user: 5", "assistant: a", "user: 6", "assistant: b"]);
  });

  test('onConflict "append" appends despite the conflict, given to the agent or to the run', async () => {
    const model = scripted(async () => {
      await stores.open("t").addMessages([{ role: "user", content: "in between" }]);
      return "late";
    });
    const agent = new ChatAgent({ model });
    const thread = agent.getNewThread({ messageStore: stores.open("t") });
    await runIt(agent, "one", { thread, onConflict: "append" });
    expect(await listOf("t")).toEqual(["user: one", "user: in between", "assistant: late"]);
    const other = new ChatAgent({ model, onConflict: "append" });
    const at = other.getNewThread({ messageStore: stores.open("t") });
    await Promise.all([runIt(other, "two", { thread: at }), runIt(other, "three", { thread: at })]);
    expect(await listOf("t")).toHaveLength(3 + 2 + 4);
    expect(await failureOf(runIt(other, "four", { thread: at, onConflict: "fail" }))).toMatchObject({
      code: "CONFLICT",
    });
  });
});
