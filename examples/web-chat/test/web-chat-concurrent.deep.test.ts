import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { importChats } from "./import-chats.ts";
import { setUpWebChat } from "./setup.ts";

const COUNT = "Count to 60";
const NUMBERS = Array.from({ length: 60 }, (_, i) => i + 1).join(" ");

const tests = setUpWebChat();

test("a chat is renamed during its answer: the title is kept, and the answer is complete", async () => {
  const { chat } = await tests.visit();
  await chat.send(COUNT, { wait: false });
  await chat.messages.last().getByText("1 2 3").waitFor();
  await chat.button("Commands for this chat").click();
  await chat.page.getByRole("menuitem", { name: "Rename" }).click();
  await chat.page.keyboard.type("Sixty numbers");
  await chat.page.keyboard.press("Enter");
  await chat.answered();
  expect(await chat.texts()).toEqual([COUNT, NUMBERS]);
  await chat.reload();
  await expect.poll(() => chat.titles()).toEqual(["Sixty numbers"]);
  expect((await chat.stored())[1]).toMatchObject({ text: NUMBERS, status: "complete" });
});

test("a chat deleted during its answer ends the answer, and does not reappear", async () => {
  const { chat, page } = await tests.visit();
  await chat.send(COUNT, { wait: false });
  await chat.messages.last().getByText("1 2 3").waitFor();
  const url = page.url().replace("/chat/", "/api/chats/");
  await chat.button("Commands for this chat").click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await chat.button("Delete").click();
  await page.getByText("What would you like to know?").waitFor();
  // Longer than the server's interval between two saves of an answer.
  await page.waitForTimeout(3_000);
  expect((await page.request.get(url)).status()).toBe(404);
  await chat.reload();
  await page.getByText("No chats yet.").waitFor();
});

test("one of two concurrent approvals is refused, and the tool runs once", async () => {
  const one = await tests.visit();
  await one.chat.send("Delete packing-list.txt");
  await one.page.getByText("Delete packing-list.txt?").waitFor();
  const two = await tests.visit(one.page.url(), { like: one.page });
  await two.chat.button("Approve").waitFor();
  for (const { expect: allow } of [one, two]) allow("409");
  await Promise.all([one.chat.button("Approve").click(), two.chat.button("Approve").click()]);
  const done = "Done. packing-list.txt is deleted.";
  const refused = ({ page }: typeof one) => page.getByRole("alert").getByText("updated elsewhere").count();
  const told = ({ page }: typeof one) => page.getByText(done).count();
  await expect.poll(async () => (await told(one)) + (await told(two))).toBe(1);
  await expect.poll(async () => (await refused(one)) + (await refused(two))).toBe(1);
  const behind = (await refused(one)) === 1 ? one : two;
  await behind.chat.button("Reload").click();
  await behind.page.getByText(done).waitFor();
  const messages = await one.chat.stored();
  expect(messages.map(({ text }) => text.split("Done.").length - 1)).toEqual([0, 1]);
  expect(await readdir(join(tests.folder, ".web-chat/files"))).not.toContain("packing-list.txt");
});

test("an answer that does not start can be stopped and requested again", async () => {
  const { chat, page } = await tests.visit();
  await chat.send("Take your time", { wait: false });
  await page.getByText("Waiting for the answer").waitFor();
  await chat.button("Stop").click();
  await page.getByText("No answer came.").waitFor();
  await chat.reload();
  await page.getByText("No answer came.").waitFor();
  expect((await chat.stored()).map(({ role }) => role)).toEqual(["user"]);
  await chat.button("Try again").click();
  await page.getByText("Waiting for the answer").waitFor();
  await chat.button("Stop").click();
  await page.getByText("No answer came.").waitFor();
});

test("a long chat shows its newest messages, and earlier ones on request", async () => {
  const { chat, page } = await tests.visit();
  const texts = Array.from({ length: 120 }, (_, i) => `Message ${i + 1}.`);
  await importChats(page, [{ title: "A long chat", activeAt: Date.now(), texts }]);
  await chat.reload();
  await chat.open("A long chat");
  await expect.poll(() => chat.texts()).toEqual(texts.slice(-50));
  const first = chat.messages.filter({ hasText: "Message 71." });
  await chat.button("Show earlier messages").focus();
  // The page may still be scrolling to the focus.
  const before = await atRest(first);
  await page.keyboard.press("Enter");
  await expect.poll(() => chat.messages.count()).toBe(100);
  // The visible messages keep their position.
  await expect.poll(async () => Math.abs(((await first.boundingBox())?.y ?? 0) - before.y)).toBeLessThan(48);
  await chat.button("Show earlier messages").click();
  await expect.poll(() => chat.texts()).toEqual(texts);
  expect(await chat.button("Show earlier messages").count()).toBe(0);
  await chat.send("Count to 3");
  expect((await chat.texts()).slice(-2)).toEqual(["Count to 3", "1 2 3"]);
  expect(await chat.stored()).toHaveLength(122);
});

/** The position of an element when it no longer moves. */
async function atRest(element: Locator) {
  for (let last = await element.boundingBox(); ; ) {
    await sleep(100);
    const box = await element.boundingBox();
    if (box && last && box.y === last.y) return box;
    last = box;
  }
}
