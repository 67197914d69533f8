import {
  lastAssistantMessageIsCompleteWithApprovalResponses as sendAutomaticallyWhen,
  type UIMessage,
} from "ai";
import { expect, test } from "vitest";
import { chatTransport } from "../src/client.ts";
import { serve } from "./serve.ts";
import { Tab, textOf } from "./ui-client.ts";

/** A tab on this package's transport, and its requests. */
async function withTab(options: Parameters<typeof serve>[0] = {}) {
  const server = await serve(options);
  const bodies: Record<string, unknown>[] = [];
  const open = (messages: UIMessage[] = []) =>
    new Tab({
      id: "c",
      messages,
      sendAutomaticallyWhen,
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
  const behind = server.open(tab.plain);
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
  const late = server.open(server.tab.plain.slice(0, 1));
  await late.resumeStream();
  expect(late.plain).toEqual(server.tab.plain);
});
