import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { inProcessStreams } from "../src/index.ts";
import { scriptedModel, scriptedTools } from "./scripted-model.ts";
import { answer, read, serve, textIn, until, user } from "./serve.ts";
import { openTab, textOf } from "./ui-client.ts";

const slow = () => scriptedModel({ delayMs: 20 });
const text = "say one two three four five six seven eight nine ten";
const whole = "one two three four five six seven eight nine ten ";

test.concurrent("many listeners, one disconnects: the others get the whole answer", async () => {
  await using server = await serve({ model: slow() });
  const answered = server.post({ id: "c", message: user("q", text) });
  const run = await until(async () => (await server.mine.get("c"))?.run);
  const responses = await Promise.all([1, 2, 3].map(() => fetch(`${server.url}/api/chat/c/stream`)));
  expect(responses.map(({ headers }) => headers.get("x-scrollback-run"))).toEqual([run.id, run.id, run.id]);
  await responses[0]?.body?.cancel();
  const texts = await Promise.all(
    responses.slice(1).map(async (response) => textIn((await read(response)).chunks)),
  );
  expect(texts).toEqual([whole, whole]);
  await answered;
});

test.concurrent("no chat, no answer, an old answer: 204", async () => {
  await using server = await serve();
  const status = async () => (await fetch(`${server.url}/api/chat/c/stream`)).status;
  expect(await status()).toBe(204);
  await server.mine.create({ id: "c", messages: [user("q")] });
  expect(await status()).toBe(204);
  await using old = await serve({ store: { now: () => Date.now() - 11_000 } });
  await old.post({ id: "c", message: user("q", "say hello") });
  expect((await fetch(`${old.url}/api/chat/c/stream`)).status).toBe(204);
});

test.concurrent("an answer that has just ended is replayed as a whole: complete, failed and stopped", async () => {
  await using server = await serve({ model: slow() });
  const loaded = openTab(server.url, "c", { messages: [user("q", "say hello")] });
  await server.post({ id: "c", message: user("q", "say hello") });
  await loaded.resumeStream();
  expect(loaded.error).toBeUndefined();
  expect(loaded.plain).toEqual(await server.stored("c"));
  await loaded.resumeStream();
  expect(loaded.plain).toEqual(await server.stored("c"));

  await server.post({ id: "d", message: user("q", "fail after one") });
  const failed = openTab(server.url, "d", { messages: [user("q", "fail after one")] });
  await failed.resumeStream();
  expect([failed.lastText, failed.error?.message]).toEqual(["one ", "An error occurred."]);

  const stopping = server.post({ id: "e", message: user("q", text) });
  await until(async () => (await server.stored("e"))?.length === 2);
  await server.send("POST", "/chat/e/stop");
  await stopping;
  const stopped = openTab(server.url, "e", { messages: [user("q", text)] });
  await stopped.resumeStream();
  expect(stopped.error).toBeUndefined();
  expect(stopped.plain).toEqual(await server.stored("e"));
});

test.concurrent("an answer that ended on a server whose clock is far ahead is not replayed for as long", async () => {
  await using server = await serve();
  const store = { now: () => Date.now() + 3_600_000 };
  await using ahead = await serve({ stores: server.stores, store });
  await ahead.post({ id: "c", message: user("q", "say hello") });
  expect((await server.mine.read("c"))?.entries.at(-1)?.status).toBe("complete");
  expect((await fetch(`${server.url}/api/chat/c/stream`)).status).toBe(204);
});

test.concurrent("an answer that continues after an approval: a late tab has the earlier parts", async () => {
  const tools = scriptedTools({ deleted: [] }, { lookUpMs: 100 });
  await using server = await serve({ model: slow(), tools });
  const first = openTab(server.url, "c", {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  await first.sendMessage({ text: "delete a.txt" });
  const { messages } = await server.get("/chats/c");
  const part = first.lastMessage?.parts.at(-1) as unknown as { approval: { id: string } };
  await first.addToolApprovalResponse({ id: part.approval.id, approved: true });
  await until(async () => (await server.mine.get("c"))?.run);
  const late = openTab(server.url, "c", { messages });
  await late.resumeStream();
  await first.idle();
  expect(late.error).toBeUndefined();
  expect(late.plain).toEqual(first.plain);
  expect(late.plain).toEqual(await server.stored("c"));
});

test.concurrent("an answer with every kind of part is replayed as it is stored", async () => {
  const meta = { provider: { key: "value" } };
  const approval = {
    id: "x",
    approved: true,
    reason: "yes",
    isAutomatic: true,
    requestReason: "why",
    signature: "s",
  };
  const call = {
    toolCallId: "1",
    input: { a: 1 },
    title: "T",
    toolMetadata: { m: 1 },
    callProviderMetadata: meta,
  };
  const parts = [
    { type: "step-start" },
    { type: "reasoning", id: "r", text: "hm", state: "done", providerMetadata: meta },
    { type: "text", text: "hi", state: "done", providerMetadata: meta },
    { type: "source-url", sourceId: "s", url: "http://a/", title: "A", providerMetadata: meta },
    { type: "source-document", sourceId: "d", mediaType: "text/plain", title: "D", filename: "f" },
    { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" },
    { type: "custom", kind: "a.b", providerMetadata: meta },
    { type: "data-x", id: "1", data: { n: 1 } },
    {
      type: "tool-a",
      ...call,
      state: "output-available",
      output: { ok: 1 },
      approval,
      resultProviderMetadata: meta,
    },
    { type: "step-start" },
    {
      type: "tool-b",
      ...call,
      toolCallId: "2",
      state: "output-error",
      errorText: "no",
      providerExecuted: true,
    },
    {
      type: "dynamic-tool",
      toolName: "c",
      ...call,
      toolCallId: "3",
      state: "approval-requested",
      approval: { id: "y" },
    },
    {
      type: "tool-d",
      toolCallId: "4",
      input: 1,
      state: "output-denied",
      approval: { id: "z", approved: false, reason: "no" },
    },
    { type: "tool-e", toolCallId: "5", input: 1, state: "input-available" },
    {
      type: "tool-f",
      toolCallId: "6",
      input: 1,
      state: "approval-responded",
      approval: { id: "w", approved: false },
    },
    { type: "text", text: "", state: "done" },
  ];
  const message = { id: "a", role: "assistant", metadata: { at: 1 }, parts } as unknown as UIMessage;
  await using server = await serve();
  await server.mine.create({ id: "c", messages: [user("q"), message] });
  const tab = openTab(server.url, "c", { messages: [user("q")] });
  await tab.resumeStream();
  expect(tab.error).toBeUndefined();
  expect(tab.plain).toEqual([user("q"), message]);
});

test.concurrent("an answer that a busy server publishes late is resumed", async () => {
  const streams = inProcessStreams();
  const late = {
    ...streams,
    publish: (...args: Parameters<typeof streams.publish>) =>
      void setTimeout(() => streams.publish(...args), 900),
  };
  await using server = await serve({ model: slow(), streams: late });
  const answered = server.post({ id: "c", message: user("q", `say ${"long ".repeat(150)}`) });
  await until(async () => (await server.mine.get("c"))?.run);
  const resumed = await fetch(`${server.url}/api/chat/c/stream`);
  expect(textIn((await read(resumed)).chunks).match(/long/g)).toHaveLength(150);
  await answered;
});

test.concurrent("an answer is resumed although its busy server does not reply for 2.5 s", async () => {
  const streams = inProcessStreams();
  let silentUntil = Number.POSITIVE_INFINITY;
  const busy = {
    ...streams,
    resume: async (runId: string) => {
      if (performance.now() < silentUntil) throw new Error("no reply");
      return await streams.resume(runId);
    },
  };
  await using server = await serve({ model: slow(), streams: busy });
  const answered = server.post({ id: "c", message: user("q", `say ${"long ".repeat(150)}`) });
  await until(async () => (await server.mine.get("c"))?.run);
  silentUntil = performance.now() + 2_500;
  const resumed = await fetch(`${server.url}/api/chat/c/stream`);
  expect(textIn((await read(resumed)).chunks).match(/long/g)).toHaveLength(150);
  await answered;
});

test.concurrent("in-process streams: an answer larger than the memory limit is generated and stored, but not resumed", async () => {
  await using server = await serve({ model: slow(), streams: inProcessStreams({ maxBytes: 600 }) });
  const answered = server.post({ id: "c", message: user("q", `say ${"long ".repeat(150)}`) });
  await until(async () => /assistant.{150}/.test(await server.newest("c")));
  expect((await fetch(`${server.url}/api/chat/c/stream`)).status).toBe(204);
  expect(textIn((await answered).chunks).match(/long/g)).toHaveLength(150);
  expect(textOf((await server.stored("c"))?.[1]).match(/long/g)).toHaveLength(150);
});

test.concurrent("in-process streams: listeners continue when the memory is full, and close ends them", async () => {
  const streams = inProcessStreams({ maxBytes: 100 });
  const { readable, writable } = new TransformStream<string, string>();
  streams.publish("r", readable);
  const writer = writable.getWriter();
  await writer.write("a");
  const listener = (await until(() => streams.resume("r"))).getReader();
  expect(await listener.read()).toEqual({ done: false, value: "a" });
  await writer.write("b".repeat(100));
  expect((await listener.read()).value).toBe("b".repeat(100));
  expect(await streams.resume("r")).toBeUndefined();
  await writer.write("c");
  expect((await listener.read()).value).toBe("c");
  let stops = 0;
  const forget = streams.onStop("r", () => void stops++);
  await streams.stop("r");
  forget();
  await streams.stop("r");
  expect(stops).toBe(1);
  await streams.close();
  expect((await listener.read()).done).toBe(true);
  expect(await streams.resume("r")).toBeUndefined();
});

test.concurrent("a lost run is not resumed, and its answer is shown as failed", async () => {
  await using server = await serve({ store: { leaseMs: 150 } });
  await server.mine.create({ id: "c", messages: [user("q"), answer("a")] });
  const late = { now: () => Date.now() - 60_000 };
  await using dead = await serve({ stores: server.stores, store: { ...late, leaseMs: 150, beatMs: 50 } });
  const run = await dead.mine.begin("c", { append: [user("q2")] }, { messageId: "a2" });
  run.update({ id: "a2", role: "assistant", parts: [{ type: "text", text: "so f", state: "streaming" }] });
  await run.save();
  expect((await fetch(`${server.url}/api/chat/c/stream`)).status).toBe(204);
  const { messages, statuses } = await server.get("/chats/c");
  expect(statuses.a2).toMatchObject({ status: "failed", error: expect.stringContaining("lost") });
  expect(messages.at(-1)?.parts).toEqual([{ type: "text", text: "so f", state: "done" }]);
  expect(await (await server.send("POST", "/chat/c/stop")).json()).toEqual({ stopped: false });
  const retried = await server.post({ id: "c", message: user("q3", "say on"), parentId: "a2" });
  expect(textIn(retried.chunks)).toBe("on ");
  await run.end({ status: "stopped" }).catch(() => undefined);
});
