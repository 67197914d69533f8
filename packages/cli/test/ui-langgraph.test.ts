import { expect, test } from "vitest";
import { ScrollbackSaver } from "../../bridge-langgraph/src/index.ts";
import { configOf, putValues } from "../../bridge-langgraph/test/checkpoints.ts";
import type { MessageRows, ThreadHead, ThreadRows } from "../src/ui/api-types.ts";
import { startUi } from "./inspector.ts";
import { Folder } from "./run.ts";

test("a LangGraph thread is listed under its own id, with its checkpoints by namespace", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const saver = new ScrollbackSaver({ stores });
  const [first, second] = ["1ef00000-0000-6000-8000-000000000001", "1ef00000-0000-6000-8000-000000000002"];
  const text = "a".repeat(5_000);
  const parent = await putValues(saver, configOf("trip: 1"), first, { messages: text, count: 1 });
  await saver.putWrites(parent, [["messages", "pending"]], "task-1");
  await putValues(saver, parent, second, { messages: `${text}b`, count: 2 });
  await putValues(saver, configOf("trip: 1", undefined, "child:2"), first, { count: 1 });
  await using ui = await startUi(folder.url());
  const { threads } = await ui.json<ThreadRows>("/api/threads", { query: "trip: 1" });
  expect(threads).toMatchObject([{ title: "trip: 1", kind: "LangGraph thread" }]);
  const { links } = await ui.json<ThreadHead>("/api/thread", { id: threads[0]?.threadId ?? "" });
  expect(links.map(({ label }) => label).sort()).toEqual([
    "checkpoints of namespace child:2",
    "checkpoints of the graph",
  ]);
  const log = links.find(({ label }) => label.endsWith("graph"))?.threadId ?? "";
  const head = await ui.json<ThreadHead>("/api/thread", { id: log });
  expect(head).toMatchObject({ kind: "checkpoints", links: [{ threadId: threads[0]?.threadId }] });
  const { messages } = await ui.json<MessageRows>("/api/messages", { id: log, limit: 100 });
  const shown = messages.map(({ role, blocks = [] }) => [
    role,
    ...blocks.map(({ fields }) => Object.fromEntries(fields ?? [])),
  ]);
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(shown).toEqual([
    [
      "checkpoint",
      { id: first, parent: "none", time, step: "1", source: "loop" },
      { messages: "5KB", count: "1B" },
    ],
    ["pending writes", { checkpoint: first, task: "task-1" }, { messages: "9B" }],
    // Of a value that has grown, only what was added is stored.
    [
      "checkpoint",
      { id: second, parent: first, time, step: "1", source: "loop" },
      { messages: "1B", count: "1B" },
    ],
  ]);
});
