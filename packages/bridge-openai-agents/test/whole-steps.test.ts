import type { AgentInputItem } from "@openai/agents-core";
import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { ScrollbackSession } from "../src/index.ts";
import { assistant, call, result, user } from "./items.ts";

const reasoning = (text: string): AgentInputItem => ({
  type: "reasoning",
  content: [{ type: "input_text", text }],
});
const compaction = (id: string): AgentInputItem => ({ type: "compaction", id, encrypted_content: "x" });

/** A question, then steps of three calls in parallel. */
const research = (steps: number): AgentInputItem[] => [
  user("Research this."),
  ...Array.from({ length: steps }, (_, step) => {
    const ids = ["a", "b", "c"].map((name) => `${step}${name}`);
    return [...ids.map((id) => call(id)), ...ids.map(result)];
  }).flat(),
];

const idOf = (item: AgentInputItem) => (item as { callId?: string }).callId;

/** The ids of results without a call before them, and of calls without a result. */
function orphansIn(items: readonly AgentInputItem[]): unknown[] {
  const ofType = (type: string) => items.filter((item) => item.type === type).map(idOf);
  const [calls, results] = [ofType("function_call"), ofType("function_call_result")];
  return [...results.filter((id) => !calls.includes(id)), ...calls.filter((id) => !results.includes(id))];
}

test("no limit cuts a step of several calls", async () => {
  const items = [...research(7), assistant("Report.")];
  const whole = new ScrollbackSession({ stores: createMemoryStores() });
  await whole.addItems(items);
  for (let limit = 1; limit <= items.length + 1; limit++) {
    const stores = createMemoryStores({ maxMessages: limit });
    const trimmed = new ScrollbackSession({ stores });
    await trimmed.addItems(items);
    const kept = await trimmed.getItems();
    expect(orphansIn(kept), `maxMessages ${limit}`).toEqual([]);
    expect(await whole.getItems(limit), `a limit of ${limit}`).toEqual(kept);
    expect(kept.at(-1)).toEqual(assistant("Report."));
  }
});

test("a step of more results than fit is trimmed as a whole", async () => {
  const ids = Array.from({ length: 12 }, (_, index) => String(index));
  const session = new ScrollbackSession({ stores: createMemoryStores({ maxMessages: 10 }) });
  await session.addItems([user("Look."), ...ids.map((id) => call(id))]);
  await session.addItems(ids.map(result));
  expect(await session.getItems()).toEqual([]);
  await session.addItems([assistant("Done."), user("And now?")]);
  expect(await session.getItems()).toEqual([assistant("Done."), user("And now?")]);
});

test("reasoning is not cut from the call after it", async () => {
  const step = (id: string) => [reasoning(id), call(id), result(id)];
  const whole = new ScrollbackSession({ stores: createMemoryStores() });
  await whole.addItems([user("1"), ...step("a"), ...step("b")]);
  const kept = [1, 2, 3, 4, 5, 6].map((limit) => whole.getItems(limit));
  expect(await Promise.all(kept)).toEqual([
    [],
    [],
    step("b"),
    step("b"),
    step("b"),
    [...step("a"), ...step("b")],
  ]);
});

test("calls of every tool begin nothing behind them, a hosted tool's call may", async () => {
  const shell = { type: "shell_call", callId: "s" } as AgentInputItem;
  const hosted = { type: "hosted_tool_call", name: "web_search" } as AgentInputItem;
  const search = { type: "tool_search_call", arguments: {} } as unknown as AgentInputItem;
  const session = new ScrollbackSession({ stores: createMemoryStores() });
  const items = [user("1"), shell, search, hosted, assistant("2")];
  await session.addItems(items);
  expect(await session.getItems(3)).toEqual([assistant("2")]);
  expect(await session.getItems(4)).toEqual(items.slice(1));
  await session.addItems([hosted, assistant("3")]);
  expect(await session.getItems(2)).toEqual([hosted, assistant("3")]);
});

test("the newest compaction item stays in front, older ones are trimmed", async () => {
  const session = new ScrollbackSession({ stores: createMemoryStores({ maxMessages: 4 }) });
  await session.addItems([compaction("old"), user("1"), assistant("2"), compaction("new")]);
  await session.addItems([user("3"), assistant("4"), user("5"), assistant("6")]);
  expect(await session.getItems()).toEqual([compaction("new"), user("5"), assistant("6")]);
  expect(await session.getItems(1)).toEqual([compaction("new")]);
  expect(await session.getItems(2)).toEqual([compaction("new"), assistant("6")]);
});
