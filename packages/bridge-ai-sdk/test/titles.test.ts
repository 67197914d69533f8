import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { TitleOption } from "../src/options.ts";
import { scriptedModel } from "./scripted-model.ts";
import { answer, serve, until, user } from "./serve.ts";

const say = (text: string, id = "q") => ({ id: "c", message: user(id, text) });

test("the title is the beginning of the first text, also without a model", async () => {
  await using server = await serve();
  await server.post(say(`  ${"long words \n ".repeat(20)}`));
  const { title = "", titleBy } = (await server.mine.get("c")) ?? {};
  expect([title, titleBy]).toEqual(["long words ".repeat(20).slice(0, 80), "text"]);
  const file = { type: "file" as const, mediaType: "image/png", url: "http://a/b.png", filename: "b.png" };
  await server.post({ id: "d", message: { id: "q", role: "user", parts: [file] } });
  expect((await server.mine.get("d"))?.title).toBe("b.png");
  await using untitled = await serve({ title: false });
  await untitled.post(say("say hello"));
  expect(await untitled.mine.get("c")).not.toHaveProperty("title");
});

test("a model titles the chat during its first answer, once", async () => {
  const model = scriptedModel();
  await using server = await serve({ title: { model, prompt: "Title it." } });
  await server.post(say("say hello"));
  const chat = await until(async () => {
    const found = await server.mine.get("c");
    return found?.titleBy === "model" && found;
  });
  expect(chat.title).toBe("Title of say hello");
  expect(JSON.stringify(model.doGenerateCalls[0]?.prompt)).toContain("Title it.");
  await server.post(say("say more", "q2"));
  await server.handler.close({ wait: true });
  expect(model.doGenerateCalls).toHaveLength(1);
});

test("a title of a model never replaces a title that the user sets meanwhile", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  await using server = await serve({ title: () => promise });
  await server.post(say("say hello"));
  await server.send("PATCH", "/chats/c", { title: "Mine" });
  resolve("Model's");
  await server.handler.close({ wait: true });
  expect(await server.mine.get("c")).toMatchObject({ title: "Mine", titleBy: "user" });
});

test("a title that is made late is not given to a chat that was created again, nor to another message", async () => {
  const makers: ((title: string) => void)[] = [];
  await using server = await serve({ title: () => new Promise((resolve) => makers.push(resolve)) });
  const isMaking = (count: number) => until(async () => makers.length === count);
  await server.post(say("my secret"));
  await isMaking(1);
  await server.send("DELETE", "/chats/c");
  // Also the same message: the title may tell of other things of the deleted chat.
  await server.post(say("my secret"));
  await isMaking(2);
  await server.post({ ...say("say hello"), messageId: "q" });
  await isMaking(3);
  makers[0]?.("Title of the deleted chat");
  makers[1]?.("Title of the secret");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await server.mine.get("c")).toMatchObject({ title: "say hello", titleBy: "text", titleOf: "q" });
  makers[2]?.("Hello");
  await server.handler.close({ wait: true });
  expect(await server.mine.get("c")).toMatchObject({ title: "Hello", titleBy: "model", titleOf: "q" });
  expect(server.errors).toEqual([]);
});

test("the title of a message that is edited is made again, and one of the user stays", async () => {
  await using server = await serve({ title: { model: scriptedModel() } });
  const titled = async (title: string) =>
    await until(async () => {
      const chat = await server.mine.get("c");
      return chat?.title === title && chat;
    });
  await server.post(say("say hello"));
  await titled("Title of say hello");
  await server.post({ ...say("say bye"), messageId: "q" });
  expect((await titled("Title of say bye")).titleBy).toBe("model");
  await server.send("PATCH", "/chats/c", { title: "Mine" });
  await server.post({ ...say("say more"), messageId: "q" });
  await server.handler.close({ wait: true });
  expect(await server.mine.get("c")).toMatchObject({ title: "Mine", titleBy: "user" });
});

test("a failed title is reported, and retried if the first answer is regenerated", async () => {
  const titles: (() => Promise<string | undefined>)[] = [
    () => Promise.reject(new Error("no title")),
    async () => undefined,
    async () => `  a  title ${"x".repeat(100)}`,
  ];
  const title: TitleOption<UIMessage> = () => titles.shift()?.() ?? Promise.resolve("too many");
  await using server = await serve({ title });
  await server.post(say("say hello"));
  await until(() => server.errors.length > 0);
  expect(server.errors).toMatchObject([{ message: "no title" }]);
  const again = { id: "c", trigger: "regenerate-message" };
  await server.post(again);
  expect(await server.mine.get("c")).toMatchObject({ title: "say hello", titleBy: "text" });
  await server.post(again);
  const chat = await until(async () => {
    const found = await server.mine.get("c");
    return found?.titleBy === "model" && found;
  });
  expect(chat.title).toBe(`a title ${"x".repeat(72)}`);
  await server.post(again);
  await server.post(say("say more", "q2"));
  expect(titles).toEqual([]);
  expect((await server.mine.get("c"))?.title).toBe(chat.title);
});

test("a chat created with messages and no title gets one with its next message, unless one is set", async () => {
  await using server = await serve();
  for (const id of ["c", "d"])
    await server.mine.create({ id, messages: [user("q", "first words"), answer("a")] });
  await server.post({ ...say("say more", "q2"), parentId: "a" });
  await server.send("PATCH", "/chats/d", { title: "Mine" });
  await server.post({ ...say("say more", "q2"), id: "d", parentId: "a" });
  await server.handler.close({ wait: true });
  expect(await server.mine.get("c")).toMatchObject({ title: "first words", titleBy: "text" });
  expect(await server.mine.get("d")).toMatchObject({ title: "Mine", titleBy: "user" });
  await using untitled = await serve({ title: false });
  await untitled.mine.create({ id: "c", messages: [user("q", "first words"), answer("a")] });
  await untitled.post({ ...say("say more", "q2"), parentId: "a" });
  await untitled.handler.close({ wait: true });
  expect(await untitled.mine.get("c")).not.toHaveProperty("title");
});
