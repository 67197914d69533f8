import { readdir, readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { sharedServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { load } from "../../../test/browser.ts";
import type { ChatPage } from "./chat-page.ts";
import { setUpWebChat } from "./setup.ts";

const COUNT = "Count to 60";
const NUMBERS = Array.from({ length: 60 }, (_, i) => i + 1).join(" ");

const tests = setUpWebChat();
const chatIdOf = ({ page }: ChatPage) => new URL(page.url()).pathname.split("/").at(-1) ?? "";
const waitForTen = (chat: ChatPage) => chat.messages.last().getByText("1 2 3 4 5 6 7 8 9 10").waitFor();

test("a tool is approved after a reload, on the other of two servers, and runs once", async () => {
  const other = await tests.start(tests.folder);
  const { chat, page } = await tests.visit();
  const files = () => readdir(join(tests.folder, ".web-chat/files"));
  await chat.send("Delete notes.txt");
  expect(await files()).toContain("notes.txt");
  const path = new URL(page.url()).pathname;
  await load(page, `${other.url}${path}`);
  await chat.button("Approve").click();
  await page.getByText("Done. notes.txt is deleted.").waitFor();
  await chat.answered();
  expect(await files()).not.toContain("notes.txt");
  expect(await page.getByText("Deleted notes.txt").count()).toBe(1);

  await load(page, `${tests.server.url}${path}`);
  await chat.send("Delete draft.txt");
  await chat.button("Deny").click();
  await page.getByText("I left draft.txt where it is.").waitFor();
  await chat.answered();
  expect(await files()).toContain("draft.txt");
});

test.each(["Redis", "files"])("with %s, another server streams an answer, and stops it", async (kind) => {
  const redis = kind === "Redis" ? await sharedServer("redis") : undefined;
  const options = redis ? { url: redis.url, env: { REDIS_URL: redis.url } } : {};
  const one = await tests.start(tests.folder, options);
  const other = await tests.start(tests.folder, options);
  const { chat, page } = await tests.visit(one.url);
  await chat.send(COUNT, { wait: false });
  await waitForTen(chat);
  const resumed = page.waitForResponse((response) => response.url().endsWith("/stream"));
  await load(page, `${other.url}${new URL(page.url()).pathname}`);
  expect((await resumed).status()).toBe(200);
  await chat.answered();
  expect(await chat.texts()).toEqual([COUNT, NUMBERS]);

  await chat.act(chat.messages.last(), "Regenerate");
  await waitForTen(chat);
  await load(page, `${one.url}${new URL(page.url()).pathname}`);
  await waitForTen(chat);
  await chat.button("Stop").click();
  await page.getByText("You stopped this answer.").waitFor();
  expect((await chat.stored())[1]?.status).toBe("stopped");
});

test("a server killed during an answer is restarted, and the answer is generated again", async () => {
  const folder = await tests.newFolder();
  const killed = await tests.start(folder);
  const { chat, page, expect: allow } = await tests.visit(killed.url);
  allow("net::ERR_");
  await chat.send(COUNT, { wait: false });
  await expect.poll(async () => (await chat.stored())[1]?.status).toBe("partial");
  await killed.kill("SIGKILL");
  await page.getByText("The connection to the server was lost.").waitFor();
  await tests.start(folder, { port: Number(new URL(killed.url).port) });
  await chat.button("Reconnect").click();
  await page.getByText("This answer was interrupted").waitFor({ timeout: 30_000 });
  const [, partial = ""] = await chat.texts();
  expect(partial).toMatch(/^1 2 3/);
  expect(NUMBERS.startsWith(partial)).toBe(true);
  await chat.button("Try again").click();
  await expect.poll(() => chat.texts()).toEqual([COUNT, NUMBERS]);
  await chat.answered();
  expect(await chat.stored()).toHaveLength(2);
});

test("a server that receives SIGTERM saves the partial answer", async () => {
  const folder = await tests.newFolder();
  const ended = await tests.start(folder);
  const { chat, page, expect: allow } = await tests.visit(ended.url);
  allow("net::ERR_");
  await chat.send(COUNT, { wait: false });
  await waitForTen(chat);
  await ended.kill("SIGTERM");
  await tests.start(folder, { port: Number(new URL(ended.url).port) });
  await load(page);
  await page.getByText("You stopped this answer.").waitFor();
  expect((await chat.texts())[1]).toMatch(/^1 2 3 4 5 6 7 8 9 10/);
});

test("after all chats are deleted, the database files contain none of their text", async () => {
  const folder = await tests.newFolder();
  const server = await tests.start(folder);
  const { chat, page } = await tests.visit(server.url);
  await chat.send("My password is xylophone-42");
  const ids = [chatIdOf(chat)];
  await chat.command("My password is xylophone-42", "Archive");
  await chat.button("New chat").click();
  await chat.send("Which tram goes to Xanadu?");
  ids.push(chatIdOf(chat));
  const grep = async (words: readonly string[]) => {
    const names = (await readdir(join(folder, ".web-chat"))).filter((name) => name.startsWith("chats.db"));
    const files = names.map((name) => readFile(join(folder, ".web-chat", name), "latin1"));
    const text = (await Promise.all(files)).join();
    return words.filter((word) => text.includes(word));
  };
  const words = ["xylophone-42", "Xanadu", "harbour", ...ids];
  expect(await grep(words)).toEqual(words);
  await chat.button("Delete all chats").click();
  await chat.button("Delete all").click();
  await page.getByText("No chats yet.").waitFor();
  await expect.poll(() => page.url()).toBe(`${server.url}/`);
  await expect.poll(() => grep(words)).toEqual([]);
  await server.kill("SIGTERM");
  expect(await grep(words)).toEqual([]);
});

test("owners see only their own chats; a request with another cookie, without one or from another site sees none", async () => {
  const { chat, page } = await tests.visit();
  await chat.send("Count to 3");
  const path = `/api/chats/${chatIdOf(chat)}`;
  const [cookie] = await page.context().cookies();
  const status = async (headers: Record<string, string>) =>
    (await fetch(`${tests.server.url}${path}`, { headers })).status;
  const own = `${cookie?.name}=${cookie?.value}`;
  expect(await status({ cookie: own })).toBe(200);
  expect(await status({})).toBe(401);
  expect(await status({ cookie: own.slice(0, -2) })).toBe(401);
  expect(await status({ cookie: own.replace(/=./, "=x") })).toBe(404);
  expect(await status({ cookie: own, "sec-fetch-site": "cross-site" })).toBe(403);

  const stranger = await tests.visit();
  stranger.expect("404");
  await load(stranger.page, page.url());
  await stranger.page.getByText("This chat does not exist").waitFor();
  expect(await stranger.chat.titles()).toEqual([]);
});

test("the server listens on the loopback interface only", async () => {
  const { port } = new URL(tests.server.url);
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  for (const { address } of all.filter(({ internal, family }) => !internal && family === "IPv4")) {
    await expect(fetch(`http://${address}:${port}/`)).rejects.toThrow();
  }
});
