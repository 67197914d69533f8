import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chatClient, chatTransport } from "@scrollback/bridge-ai-sdk/client";
import type { UIMessage } from "ai";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Tab } from "../../packages/bridge-ai-sdk/test/ui-client.ts";
import { load, startBrowser } from "../../test/browser.ts";
import { start } from "../cloudflare/start.ts";

let folder = "";
let worker: Awaited<ReturnType<typeof start>>;
let url = "";
async function restart(): Promise<void> {
  await worker?.dispose();
  worker = await start({ port: 0, folder });
  url = (await worker.ready).href.replace(/\/$/, "");
}
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-worker-"));
  await restart();
});
afterAll(async () => {
  await worker.dispose();
  await rm(folder, { recursive: true });
});

const headersOf = (user: string) => ({ "x-user": user });
const tab = (id: string, messages: UIMessage[] = []) => {
  const transport = chatTransport({
    api: `${url}/api/chat`,
    headers: headersOf("ada"),
    messages: () => messages,
  });
  return new Tab({ id, messages, transport });
};
const clientOf = (user: string) => chatClient({ api: `${url}/api`, headers: headersOf(user) });

test("an answer streams, goes on in another tab, and is listed; it is there after a restart, for its user alone", async () => {
  const question = "Which tram goes to the museum in the old town on a Sunday?";
  const first = tab("rome");
  const sent = first.sendMessage({ text: question });
  await vi.waitFor(() => expect(first.lastText).toContain("You have"), { timeout: 30_000 });
  expect(first.lastText).not.toContain("Sunday");
  const { messages } = await clientOf("ada").get("rome");
  const second = tab("rome", messages);
  await second.resumeStream();
  expect(second.lastText).toBe(`You have asked: ${question}`);
  await sent;
  expect(first.lastText).toBe(second.lastText);
  await restart();
  const listed = await clientOf("ada").list();
  expect(listed.chats).toMatchObject([{ id: "rome", messageCount: 2 }]);
  expect((await clientOf("ada").get("rome")).messages).toHaveLength(2);
  expect((await clientOf("bob").list()).chats).toEqual([]);
});

test("a request without a user is refused; the page is served", async () => {
  expect((await fetch(`${url}/api/chats`)).status).toBe(401);
  expect(await (await fetch(url)).text()).toContain("/page.js");
  expect(await (await fetch(`${url}/page.js`)).text()).toContain("New chat");
});

test("the page continues an answer after a reload, stops it, follows the URL, and deletes chats", async () => {
  await using browser = await startBrowser();
  const { page, errors } = await browser.visit(url);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const ask = async (text: string) => {
    await page.getByLabel("Message").fill(text);
    await button("Send").click();
  };
  const answer = page.locator("main p").nth(1);
  await ask("tram");
  await answer.filter({ hasText: "tram" }).waitFor();
  await button("tram").waitFor();
  const first = page.url();

  await button("New chat").click();
  await answer.waitFor({ state: "detached" });
  const words = Array.from({ length: 200 }, (_, index) => `w${index}`);
  await ask(words.join(" "));
  await answer.filter({ hasText: "w3" }).waitFor();
  await load(page);
  await answer.filter({ hasText: "w3" }).waitFor();
  const seen = (await answer.innerText()).split(" ").at(-1) ?? "";
  await answer.filter({ hasText: words[words.indexOf(seen) + 5] ?? "" }).waitFor();
  await button("Stop").click();
  await expect.poll(() => button("Stop").isDisabled()).toBe(true);
  const stopped = await answer.innerText();
  expect(stopped).not.toContain("w199");
  await load(page);
  await answer.waitFor();
  expect(await answer.innerText()).toBe(stopped);

  await load(page, first);
  await answer.filter({ hasText: "tram" }).waitFor();
  await page.goBack();
  await answer.filter({ hasText: "w3" }).waitFor();
  expect(errors).toEqual([]);
  for (let left = await button("Delete").count(); left-- > 0; ) {
    await button("Delete").first().click();
    await expect.poll(() => button("Delete").count()).toBe(left);
  }
  expect((await clientOf("ada").list()).chats).toEqual([]);
});
