import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { chatTransport } from "../src/client.ts";
import { answer, serve, textIn, user } from "./serve.ts";
import { Tab, textOf } from "./ui-client.ts";

const messages = [user("q1", "say one"), answer("a1", "one "), user("q2", "say two"), answer("a2", "two ")];

async function withTabs() {
  const server = await serve();
  await server.mine.create({ id: "c", messages });
  const open = (loaded: readonly UIMessage[], init?: object) =>
    new Tab({
      id: "c",
      messages: structuredClone([...loaded]),
      transport: chatTransport({ api: `${server.url}/api/chat`, ...init }),
    });
  return { ...server, open };
}

const acts: Record<string, (tab: Tab) => Promise<void>> = {
  "an edit": (tab) => tab.sendMessage({ text: "say ONE", messageId: "q1" }),
  "regenerate()": (tab) => tab.regenerate(),
  "regenerate() of an earlier answer": (tab) => tab.regenerate({ messageId: "a1" }),
};

test.each(Object.entries(acts))(
  "%s in a tab that has not loaded the newest question is refused",
  async (_, act) => {
    await using server = await withTabs();
    const stale = messages.slice(0, 2);
    for (const tab of [server.open(stale), server.open(stale, { messages: () => stale })]) {
      await act(tab);
      expect(tab.error?.message).toContain("CONFLICT");
      expect(await server.stored("c")).toEqual(messages);
    }
    expect(server.errors).toEqual([]);
  },
);

test.each(Object.entries(acts))(
  "%s in a tab that has loaded or sent the newest question is accepted",
  async (_, act) => {
    await using server = await withTabs();
    const tab = server.open(messages, { messages: () => messages });
    await tab.sendMessage({ text: "say three" });
    await act(tab);
    expect(tab.error).toBeUndefined();
    await tab.regenerate();
    expect(tab.error).toBeUndefined();
    expect((await server.stored("c"))?.map(textOf)).toEqual(tab.plain.map(textOf));
  },
);

test("a tab that loads the chat again may edit again", async () => {
  await using server = await withTabs();
  let loaded: readonly UIMessage[] = messages.slice(0, 2);
  const tab = server.open(loaded, { messages: () => loaded });
  await tab.regenerate();
  expect(tab.error?.message).toContain("CONFLICT");
  loaded = messages;
  tab.messages = structuredClone(messages);
  await tab.sendMessage({ text: "say ONE", messageId: "q1" });
  expect((await server.stored("c"))?.map(textOf)).toEqual(["say ONE", "ONE "]);
});

test("the default transport: regenerate() is refused for another answer than the one shown", async () => {
  await using server = await withTabs();
  const again = { id: "c", trigger: "regenerate-message" };
  expect(await server.post({ ...again, messages: [messages[0]] })).toMatchObject({ status: 409 });
  expect(await server.stored("c")).toEqual(messages);
  const { status, chunks } = await server.post({ ...again, messages: messages.slice(0, 3) });
  expect([status, textIn(chunks)]).toEqual([200, "two "]);
});

test.each<[string, object, number]>([
  ["an edit of an unknown message", { messageId: "none" }, 409],
  ["an edit of an answer", { messageId: "a1" }, 409],
  ["an unknown parentId", { parentId: "none" }, 409],
  ["a branch behind an unknown parentId", { parentId: "none", branch: true }, 404],
  ["a branch from an edit of an unknown message", { messageId: "none", branch: true }, 409],
  ["a regeneration of an unknown answer", { trigger: "regenerate-message", messageId: "none" }, 409],
])("%s is refused, and changes nothing", async (_, body, status) => {
  await using server = await withTabs();
  expect(await server.post({ id: "c", message: user("q3"), ...body })).toMatchObject({ status });
  expect(await server.stored("c")).toEqual(messages);
  expect((await server.get("/chats")).chats).toHaveLength(1);
});

test("a generateMessageId that repeats an id: 409, and no stored message changes", async () => {
  for (const id of ["a1", "q2", "q3"]) {
    await using server = await serve({ generateMessageId: () => id });
    await server.mine.create({ id: "c", messages });
    const body = { id: "c", message: user("q3"), parentId: "a2" };
    expect(await server.post(body)).toMatchObject({ status: 409, error: "CONFLICT" });
    expect(await server.post({ ...body, branch: true })).toMatchObject({ status: 409 });
    expect(await server.stored("c")).toEqual(messages);
    expect((await server.get("/chats")).chats).toHaveLength(1);
  }
});
