import {
  type ChatInit,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses as sendAutomaticallyWhen,
  type UIMessage,
} from "ai";
import { expect, test } from "vitest";
import { chatTransport } from "../src/client.ts";
import { scriptedModel } from "./scripted-model.ts";
import { serve } from "./serve.ts";
import { openTab, Tab, textOf } from "./ui-client.ts";

/** A tab on this package's transport, and its requests. */
async function withTab(options: Parameters<typeof serve>[0] = {}) {
  const server = await serve(options);
  const bodies: Record<string, unknown>[] = [];
  const open = (init: Partial<ChatInit<UIMessage>> = {}) =>
    new Tab({
      id: "c",
      sendAutomaticallyWhen,
      ...init,
      transport: chatTransport({
        api: `${server.url}/api/chat`,
        body: { mood: "calm" },
        async fetch(input, init) {
          if (init?.body) bodies.push(JSON.parse(String(init.body)));
          return await fetch(input, init);
        },
      }),
    });
  return { ...server, bodies, open, tab: open() };
}

test("chatTransport sends only the message to be answered", async () => {
  await using server = await withTab();
  const { tab, bodies } = server;
  await tab.sendMessage({ text: "say one" });
  await tab.sendMessage({ text: "say two" });
  await tab.regenerate();
  const [q1, a1, q2] = tab.messages;
  await tab.sendMessage({ text: "say three", messageId: q1?.id ?? "" });
  await tab.sendMessage({ text: "delete a.txt" });
  const part = tab.lastMessage?.parts.at(-1) as unknown as { approval: { id: string } };
  await tab.addToolApprovalResponse({ id: part.approval.id, approved: true });
  await tab.idle();
  const shared = { id: "c", mood: "calm" };
  expect(bodies).toMatchObject([
    { ...shared, trigger: "submit-message", message: { id: q1?.id }, parentId: null },
    { ...shared, trigger: "submit-message", message: { id: q2?.id }, parentId: a1?.id },
    { ...shared, trigger: "regenerate-message" },
    { ...shared, messageId: q1?.id, message: { id: q1?.id } },
    { ...shared, message: { role: "user" } },
    { ...shared, message: { role: "assistant" } },
  ]);
  for (const body of bodies) expect(body).not.toHaveProperty("messages");
  expect(bodies[2]).not.toHaveProperty("message");
  expect(await server.stored("c")).toEqual(tab.plain);
  expect(server.log.deleted).toEqual(["a.txt"]);
});

test("chatTransport: an outdated tab is refused, and an empty answer of a failed model is skipped", async () => {
  await using server = await withTab();
  const { tab } = server;
  await tab.sendMessage({ text: "say one" });
  const behind = server.open({ messages: tab.plain });
  await tab.sendMessage({ text: "say two" });
  await behind.sendMessage({ text: "say late" });
  expect(behind.error?.message).toContain("CONFLICT");
  await tab.sendMessage({ text: "crash" });
  expect(tab.error).toBeDefined();
  await tab.sendMessage({ text: "say three" });
  expect(tab.lastText).toBe("three ");
  expect((await server.stored("c"))?.map(textOf)).toEqual([
    "say one",
    "one ",
    "say two",
    "two ",
    "crash",
    "say three",
    "three ",
  ]);
});

test("chatTransport resumes", async () => {
  await using server = await withTab();
  await server.tab.sendMessage({ text: "say one" });
  const late = server.open({ messages: server.tab.plain.slice(0, 1) });
  await late.resumeStream();
  expect(late.plain).toEqual(server.tab.plain);
});

test("chatTransport sends the decisions that the server does not have along with the next message, and no others", async () => {
  const model = scriptedModel();
  await using server = await withTab({ model });
  const { bodies } = server;
  const tab = server.open({ sendAutomaticallyWhen: () => false });
  const part = () => tab.lastMessage?.parts.find(isToolUIPart);
  await tab.sendMessage({ text: "look up x" });
  await tab.sendMessage({ text: "delete a.txt" });
  await tab.addToolApprovalResponse({ id: part()?.approval?.id ?? "", approved: false, reason: "mine" });
  await tab.sendMessage({ text: "ask why" });
  const asked = part();
  await tab.addToolOutput({
    tool: "askUser",
    toolCallId: asked?.toolCallId ?? "",
    output: { answer: "BLUE" },
  });
  await tab.sendMessage({ text: "say one" });
  await tab.sendMessage({ text: "say two" });
  expect(bodies.map(({ messages }) => (messages as UIMessage[] | undefined)?.[0]?.parts.length)).toEqual([
    ...[undefined, undefined, 1, 1, undefined],
  ]);
  const prompt = JSON.stringify(model.doStreamCalls.at(-1)?.prompt);
  for (const told of ["mine", "BLUE"]) expect(prompt).toContain(told);
  const stored = (await server.stored("c"))?.flatMap(({ parts }) => parts.filter(isToolUIPart));
  expect(stored?.map(({ state }) => state)).toEqual([
    "output-available",
    "output-denied",
    "output-available",
  ]);
  expect(server.log.deleted).toEqual([]);
});

test("chatTransport: an output of a client tool is sent again by a tab that has loaded the chat without it", async () => {
  await using server = await withTab();
  await server.tab.sendMessage({ text: "ask why" });
  const loaded = (await server.stored("c")) ?? [];
  const tab = new Tab({
    ...{ id: "c", messages: structuredClone(loaded) },
    transport: chatTransport({ api: `${server.url}/api/chat`, messages: () => loaded }),
  });
  const toolCallId = tab.lastMessage?.parts.find(isToolUIPart)?.toolCallId ?? "";
  await tab.addToolOutput({ tool: "askUser", toolCallId, output: { answer: "BLUE" } });
  await tab.sendMessage({ text: "say one" });
  expect(tab.error).toBeUndefined();
  expect(JSON.stringify(await server.stored("c"))).toContain("BLUE");
});

test.each(["a retry", "another message"])(
  "a message whose request fails, and %s: no stored answer is dropped",
  async (next) => {
    await using server = await withTab();
    const { tab } = server;
    await tab.sendMessage({ text: "say one" });
    const fails = server.failWrites();
    await tab.sendMessage({ text: "say two" });
    expect(tab.error).toBeDefined();
    fails.stop();
    await (next === "a retry" ? tab.regenerate() : tab.sendMessage({ text: "say three" }));
    expect(tab.error).toBeUndefined();
    const stored = (await server.stored("c"))?.map(textOf);
    expect(stored).toEqual([
      "say one",
      "one ",
      ...(next === "a retry" ? ["say two", "two "] : ["say three", "three "]),
    ]);
    if (next === "a retry") expect(await server.stored("c")).toEqual(tab.plain);
  },
);

test("a first message, and an edit, whose requests fail are sent again by a retry", async () => {
  await using server = await withTab();
  const { tab } = server;
  const failing = async (act: () => Promise<void>) => {
    const fails = server.failWrites();
    await act();
    expect(tab.error).toBeDefined();
    fails.stop();
    await tab.regenerate();
    expect(tab.error).toBeUndefined();
    expect(await server.stored("c")).toEqual(tab.plain);
  };
  await failing(() => tab.sendMessage({ text: "say one" }));
  await tab.sendMessage({ text: "say two" });
  await failing(() => tab.sendMessage({ text: "say TWO", messageId: tab.messages[2]?.id ?? "" }));
  expect((await server.stored("c"))?.map(textOf)).toEqual(["say one", "one ", "say TWO", "TWO "]);
});

test("the default transport: after a message whose request failed the next one is accepted", async () => {
  await using server = await serve();
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ text: "say one" });
  const fails = server.failWrites();
  await tab.sendMessage({ text: "say two" });
  fails.stop();
  await tab.sendMessage({ text: "say three" });
  expect((await server.stored("c"))?.map(textOf)).toEqual(["say one", "one ", "say three", "three "]);
});
