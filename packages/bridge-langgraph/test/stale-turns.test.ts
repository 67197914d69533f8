import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { ScrollbackSaver, type ScrollbackSaverOptions } from "../src/index.ts";
import { configOf, listedIds, putValues, valuesOf } from "./checkpoints.ts";

const ada = { configurable: { thread_id: "ada" } };

function connect(staleWriter?: ScrollbackSaverOptions["staleWriter"]) {
  const driver = new MemoryDriver();
  const save = () =>
    new ScrollbackSaver({ stores: createStores(driver), ...(staleWriter && { staleWriter }) });
  /** Asks in another process. The node waits for `ready`. */
  const ask = async (text: string, ready: Promise<unknown> = Promise.resolve(), started = () => {}) => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("answer", async () => {
        started();
        await ready;
        return { messages: [new AIMessage(`about ${text}`)] };
      })
      .addEdge(START, "answer")
      .compile({ checkpointer: save() });
    return (await graph.invoke({ messages: [new HumanMessage(text)] }, ada)).messages.map((one) => one.text);
  };
  return { save, ask };
}

test("of two turns at once one is refused, and the next turn goes on from the other", async () => {
  const { ask } = connect("reject");
  await ask("first");
  const [started, finished] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = ask("slow", finished.promise, started.resolve);
  await started.promise;
  const quick = await Promise.allSettled([ask("quick")]);
  finished.resolve();
  const outcomes = [...quick, ...(await Promise.allSettled([slow]))];
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  expect(refused).toEqual([
    expect.objectContaining({ reason: expect.objectContaining({ code: "CONFLICT" }) }),
  ]);
  const [kept] = outcomes.filter((outcome) => outcome.status === "fulfilled");
  expect(await ask("last")).toEqual([...(kept?.value ?? []), "last", "about last"]);
});

test("turns of several processes one after the other are not stale", async () => {
  const { ask } = connect("reject");
  for (const text of ["1", "2", "3"]) await ask(text);
  expect(await ask("4")).toHaveLength(8);
});

test("a checkpoint whose parent is not the newest one is refused, and nothing of it is stored", async () => {
  const { save } = connect("reject");
  const [one, two] = [save(), save()];
  const root = await putValues(one, configOf(), "1", { a: 1 });
  await putValues(two, root, "2", { a: 2 }, { a: 2 });
  await expect(putValues(one, root, "3", { a: 3 }, { a: 2 })).rejects.toMatchObject({ code: "CONFLICT" });
  await expect(putValues(one, configOf(), "4", { a: 4 })).rejects.toMatchObject({ code: "CONFLICT" });
  // The same checkpoint again, and the next one.
  await putValues(one, root, "2", { a: 2 }, { a: 2 });
  await putValues(one, configOf("t", "2"), "5", { a: 5 }, { a: 3 });
  expect(await listedIds(two.list(configOf()))).toEqual(["5", "2", "1"]);
  expect(await valuesOf(two, configOf())).toEqual({ a: 5 });
  // Another process has written the parent since this one has read or written.
  await putValues(two, configOf("t", "5"), "55", { a: 55 }, { a: 4 });
  await putValues(one, configOf("t", "55"), "56", { a: 56 }, { a: 5 });
  // A thread that was deleted meanwhile begins again.
  await two.deleteThread("t");
  await putValues(one, configOf("t", "5"), "6", { a: 6 }, { a: 4 });
  expect(await listedIds(two.list(configOf()))).toEqual(["6"]);
});

test("by default a stale checkpoint is a branch", async () => {
  const { save } = connect();
  const root = await putValues(save(), configOf(), "1", { a: 1 });
  await putValues(save(), root, "2", { a: 2 }, { a: 2 });
  await putValues(save(), root, "3", { a: 3 }, { a: 2 });
  expect(await listedIds(save().list(configOf()))).toEqual(["3", "2", "1"]);
  expect(() => connect("x" as never).save()).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});
