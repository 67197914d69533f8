import { createMemoryStores } from "@scrollback/store-core";
import { chat, EventType, type StreamChunk, type TextOptions, toolDefinition } from "@tanstack/ai";
import { expect, test } from "vitest";
import { ScrollbackStorage } from "../microsoft-365/storage.ts";
import { EchoModel } from "../tanstack-ai/echo-model.ts";
import { history } from "../tanstack-ai/history.ts";

test("TanStack AI: tool calls and their results are stored before the next model call", async () => {
  await using stores = createMemoryStores();
  const store = stores.open("ada");
  const storedAtCall: string[][] = [];
  const rolesStored = async () => (await store.listMessages()).map(({ role }) => role);
  class ToolModel extends EchoModel {
    override async *chatStream(options: TextOptions): AsyncIterable<StreamChunk> {
      storedAtCall.push(await rolesStored());
      if (storedAtCall.length > 1) return yield* super.chatStream(options);
      const call = { toolCallId: "call", toolCallName: "find_tram", toolName: "find_tram" };
      yield { type: EventType.RUN_STARTED, threadId: "t", runId: "r" };
      yield { type: EventType.TOOL_CALL_START, ...call };
      yield { type: EventType.TOOL_CALL_ARGS, toolCallId: "call", delta: "{}" };
      yield { type: EventType.TOOL_CALL_END, toolCallId: "call" };
      const finishReason = "tool_calls";
      const finished = { type: EventType.RUN_FINISHED, threadId: "t", runId: "r", finishReason } as const;
      yield finished;
    }
  }
  const findTram = toolDefinition({ name: "find_tram", description: "Finds a tram" }).server(() => ({
    line: 4,
  }));
  const ask = (content: string) =>
    chat({
      adapter: new ToolModel({}, "echo"),
      messages: [{ role: "user", content }],
      tools: [findTram],
      middleware: [history(store)],
      stream: false,
    });
  await ask("Which tram?");
  expect(storedAtCall).toEqual([["user"], ["user", "assistant", "tool"]]);
  expect(await rolesStored()).toEqual(["user", "assistant", "tool", "assistant"]);
  expect(await ask("And back?")).toBe("That was your message 2.");
});

test("Microsoft 365: an item has the eTag of its write, and another eTag fails with a conflict", async () => {
  await using stores = createMemoryStores();
  const storage = new ScrollbackStorage(stores);
  await storage.write({ a: { n: 1 }, b: { n: 1 } });
  const { a, missing } = await storage.read(["a", "missing"]);
  expect(a).toEqual({ n: 1, eTag: expect.any(String) });
  expect(missing).toBeUndefined();
  await storage.write({ a: { ...a, n: 2 } });
  await expect(storage.write({ a: { ...a, n: 3 } })).rejects.toMatchObject({ code: "CONFLICT" });
  await storage.write({ a: { n: 4, eTag: "*" } });
  await storage.delete(["b"]);
  expect(await storage.read(["a", "b"])).toEqual({ a: { n: 4, eTag: expect.any(String) } });
  await expect(storage.read([])).rejects.toThrow("keys must not be empty");
});
