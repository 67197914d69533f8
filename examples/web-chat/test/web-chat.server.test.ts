import { randomBytes } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { importChats } from "./import-chats.ts";
import { setUpWebChat } from "./setup.ts";

const COUNT = "Count to 60";
const NUMBERS = Array.from({ length: 60 }, (_, i) => i + 1).join(" ");

const tests = setUpWebChat();

test("a message is sent and answered, then edited, answered again and branched", async () => {
  const { chat } = await tests.visit();
  await chat.send("Which tram goes to the harbour?");
  expect((await chat.texts())[1]).toContain("Line 4 goes straight to the harbour.");
  await expect.poll(() => chat.titles()).toEqual(["Trams to the harbour"]);

  await chat.act(chat.messages.first(), "Edit");
  await chat.page.getByRole("textbox", { name: "Edit your message" }).fill("How is this chat stored?");
  await chat.page.keyboard.press("Enter");
  await chat.answered();
  expect(await chat.texts()).toEqual(["How is this chat stored?", expect.stringContaining("one thread")]);

  await chat.send("Which tram is the last one?");
  const before = await chat.stored();
  expect(before.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  const lastId = () => chat.messages.last().getAttribute("data-message-id");
  const first = await lastId();
  await chat.act(chat.messages.last(), "Regenerate");
  await chat.answered();
  expect(await chat.stored()).toEqual(before);
  expect(await lastId()).not.toBe(first);

  const source = chat.page.url();
  await chat.act(chat.messages.nth(1), "Branch from here");
  await chat.page.waitForURL((url) => url.href !== source);
  await expect.poll(() => chat.messages.count()).toBe(2);
  await chat.send("Delete nothing, count to 3");
  expect(await chat.messages.count()).toBe(4);
  await chat.page.getByRole("link", { name: "Branch of another chat, open that one" }).click();
  await chat.page.waitForURL(source);
  await expect.poll(() => chat.texts()).toContain("Which tram is the last one?");
  expect(await chat.stored()).toEqual(before);
});

test("versions: arrows show what an edit and a regeneration replaced, also after a reload", async () => {
  const { chat, page } = await tests.visit();
  await chat.send("Which tram goes to the harbour?");
  await chat.act(chat.messages.last(), "Regenerate");
  await chat.answered();
  const versions = (index: number) => chat.messages.nth(index).getByRole("group", { name: "Versions" });
  await expect.poll(() => versions(1).innerText()).toContain("2 / 2");
  await chat.act(chat.messages.first(), "Edit");
  await page.getByRole("textbox", { name: "Edit your message" }).fill("How is this chat stored?");
  await page.keyboard.press("Enter");
  await chat.answered();
  await expect.poll(() => versions(0).innerText()).toContain("2 / 2");
  const edited = await chat.texts();
  await chat.reload();
  await chat.act(chat.messages.first(), "Previous version");
  await expect.poll(() => chat.texts()).toContain("Which tram goes to the harbour?");
  expect(await versions(0).innerText()).toContain("1 / 2");
  expect(await versions(1).innerText()).toContain("2 / 2");
  await chat.act(chat.messages.nth(1), "Previous version");
  await expect.poll(() => versions(1).innerText()).toContain("1 / 2");
  expect(await chat.messages.count()).toBe(2);
  await chat.send("And which is the last one?");
  await chat.act(chat.messages.first(), "Next version");
  await expect.poll(() => chat.texts()).toEqual(edited);
});

test("versions: a tab that shows another version is refused, and loses nothing", async () => {
  const one = await tests.visit();
  await one.chat.send("Which tram goes to the harbour?");
  await one.chat.act(one.chat.messages.first(), "Edit");
  await one.page.getByRole("textbox", { name: "Edit your message" }).fill("How is this chat stored?");
  await one.page.keyboard.press("Enter");
  await one.chat.answered();
  const two = await tests.visit(one.page.url(), { like: one.page });
  await expect.poll(() => two.chat.messages.count()).toBe(2);
  await one.chat.act(one.chat.messages.first(), "Previous version");
  await expect.poll(() => one.chat.texts()).toContain("Which tram goes to the harbour?");
  two.expect("409");
  await two.chat.send("Go on", { wait: false });
  await two.page.getByRole("alert").getByText("updated elsewhere").waitFor();
  await two.chat.button("Reload").click();
  await expect.poll(() => two.chat.texts()).toContain("Which tram goes to the harbour?");
  await two.chat.act(two.chat.messages.first(), "Next version");
  await expect.poll(() => two.chat.texts()).toContain("How is this chat stored?");
});

test("the sidebar lists, loads more, renames, pins, archives and deletes", async () => {
  const { chat, page } = await tests.visit();
  await chat.send("Which tram goes to the harbour?");
  const past = (number: number) => ({ title: `Chat ${number}`, activeAt: Date.now() - number * 86_400_000 });
  await importChats(
    page,
    Array.from({ length: 24 }, (_, i) => past(i + 1)),
  );
  await chat.reload();
  const newest = (count: number) => Array.from({ length: count }, (_, i) => `Chat ${i + 1}`);
  await expect.poll(() => chat.titles()).toEqual(["Trams to the harbour", ...newest(19)]);
  await chat.button("Load more").click();
  await expect.poll(() => chat.titles()).toEqual(["Trams to the harbour", ...newest(24)]);
  expect(await chat.button("Load more").count()).toBe(0);
  expect(await chat.chats.getByRole("heading").allInnerTexts()).toEqual(
    expect.arrayContaining(["Today", "Yesterday", "Last seven days"]),
  );

  await chat.command("Chat 3", "Rename");
  await page.keyboard.type("The ferry");
  await page.keyboard.press("Enter");
  await expect.poll(() => chat.titles()).toContain("The ferry");
  await chat.command("Chat 4", "Rename");
  await page.keyboard.type("Never this");
  await page.keyboard.press("Escape");

  await chat.command("Chat 20", "Pin");
  const pinned = chat.chats.getByRole("region", { name: "Pinned" });
  await expect.poll(() => pinned.getByRole("link").allInnerTexts()).toEqual(["Chat 20"]);

  await chat.command("Chat 5", "Archive");
  await expect.poll(() => chat.titles()).not.toContain("Chat 5");
  await chat.command("Chat 6", "Archive");
  // The notice of the previous chat stays until this one is moved.
  const notice = page.getByRole("status").filter({ hasText: "“Chat 6” is in the archive." });
  await notice.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => chat.titles()).toContain("Chat 6");
  await chat.button("Archive").click();
  await expect.poll(() => chat.titles()).toEqual(["Chat 5"]);
  await chat.command("Chat 5", "Move out of the archive");
  await expect.poll(() => chat.chats.getByText("The archive is empty.").count()).toBe(1);
  await chat.button("Archive").click();

  await chat.open("Chat 7");
  await chat.command("Chat 7", "Delete");
  await chat.button("Cancel").click();
  expect(await chat.titles()).toContain("Chat 7");
  await chat.command("Chat 7", "Delete");
  await chat.button("Delete").click();
  await expect.poll(() => page.url()).toBe(`${tests.server.url}/`);
  await chat.reload();
  await expect.poll(() => chat.titles()).toHaveLength(21);
  expect(await chat.titles()).toEqual([
    ...["Chat 20", "Trams to the harbour", "Chat 1", "Chat 2", "The ferry", "Chat 4", "Chat 5", "Chat 6"],
    ...["Chat 8", "Chat 9", "Chat 10", "Chat 11", "Chat 12", "Chat 13", "Chat 14", "Chat 15", "Chat 16"],
    ...["Chat 17", "Chat 18", "Chat 19", "Chat 21"],
  ]);
});

test("a chat in the archive keeps its title and commands above its messages", async () => {
  const { chat, page } = await tests.visit();
  await chat.send("Count to 3");
  await expect.poll(() => chat.titles()).toEqual(["Counting"]);
  // Simulates a change in another tab: this tab reads it when it gets the focus.
  const url = page.url().replace("/chat/", "/api/chats/");
  expect((await page.request.patch(url, { data: { archived: true } })).ok()).toBe(true);
  await page.evaluate(() => window.dispatchEvent(new Event("focus")));
  await expect.poll(() => chat.titles()).toEqual([]);
  const heading = page.getByRole("heading", { level: 1 });
  expect(await heading.innerText()).toBe("Counting");
  for (const title of ["Three numbers", "Numbers"]) {
    await chat.button("Commands for this chat").click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.keyboard.type(title);
    await page.keyboard.press("Enter");
    await expect.poll(() => heading.innerText()).toBe(title);
    await chat.reload();
  }
  await chat.button("Commands for this chat").click();
  await page.getByRole("menuitem", { name: "Move out of the archive" }).click();
  await expect.poll(() => chat.titles()).toEqual(["Numbers"]);
});

test("an answer continues after a reload, each word once", async () => {
  const { chat } = await tests.visit();
  await chat.send(COUNT, { wait: false });
  await chat.messages.last().getByText("1 2 3 4 5 6 7 8 9 10").waitFor();
  const resumed = chat.page.waitForResponse((response) => response.url().endsWith("/stream"));
  await chat.reload();
  expect((await resumed).status()).toBe(200);
  await chat.answered();
  expect(await chat.texts()).toEqual([COUNT, NUMBERS]);
  expect((await chat.stored())[1]).toEqual({ role: "assistant", text: NUMBERS, status: "complete" });
});

test("a stopped answer is unchanged after a reload, and can be generated again", async () => {
  const { chat, page } = await tests.visit();
  await chat.send(COUNT, { wait: false });
  await chat.messages.last().getByText("1 2 3 4 5 6 7 8 9 10").waitFor();
  await chat.button("Stop").click();
  expect(await chat.field.evaluate((field) => field === document.activeElement)).toBe(true);
  await page.getByText("You stopped this answer.").waitFor();
  await chat.reload();
  await page.getByText("You stopped this answer.").waitFor();
  const [, partial = ""] = await chat.texts();
  expect(NUMBERS.startsWith(partial)).toBe(true);
  expect(partial.length).toBeLessThan(NUMBERS.length);
  expect((await chat.stored())[1]).toEqual({
    role: "assistant",
    text: expect.stringContaining("9 10"),
    status: "stopped",
  });
  await chat.button("Answer again").click();
  await chat.answered();
  expect(await chat.texts()).toEqual([COUNT, NUMBERS]);
});

test("a failed answer shows its failure, and can be generated again", async () => {
  const { chat, page } = await tests.visit();
  await chat.send("Please fail");
  await page.getByText("This answer failed.").waitFor();
  await chat.reload();
  await page.getByText("This answer failed.").waitFor();
  expect((await chat.stored())[1]?.status).toBe("failed");
  await chat.button("Try again").click();
  await page.getByText("This answer failed.").waitFor({ state: "detached" });
  await page.getByText("This answer failed.").waitFor();
  expect(tests.server.output()).toContain("the scripted model was asked to fail");
});

test("a question of the assistant is answered after a reload", async () => {
  const { chat, page } = await tests.visit();
  await chat.send("Plan a weekend for me");
  await chat.reload();
  await chat.button("A long walk").click();
  await page.getByText("A weekend for a long walk, without a car:").waitFor();
  await chat.answered();
  await chat.send("Plan another weekend");
  await page.getByRole("textbox", { name: "Another answer" }).fill("Trains");
  await page.keyboard.press("Enter");
  await page.getByText("A weekend for trains, without a car:").waitFor();
  await chat.answered();
  expect((await chat.stored()).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
});

test("an outdated tab is refused, and continues after a reload", async () => {
  const one = await tests.visit();
  await one.chat.send("Which tram goes to the harbour?");
  const two = await tests.visit(one.page.url(), { like: one.page });
  await two.chat.field.waitFor();
  two.expect("409");
  await one.chat.send("How is this chat stored?");
  await two.chat.send("Count to 3", { wait: false });
  await two.page.getByRole("alert").getByText("updated elsewhere").waitFor();
  expect(await two.page.getByText("Not sent").count()).toBe(1);
  await two.chat.button("Reload").click();
  await expect.poll(() => two.chat.texts()).toHaveLength(4);
  expect(await two.chat.field.inputValue()).toBe("Count to 3");
  await two.chat.field.press("Enter");
  await two.chat.answered();
  expect((await two.chat.texts()).slice(4)).toEqual(["Count to 3", "1 2 3"]);
  expect(await two.chat.stored()).toHaveLength(6);
});

/** A picture of one pixel, with as many bytes more as asked. */
function pngOf(bytes: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("fiLl", randomBytes(bytes)),
    chunk("IDAT", deflateSync(Buffer.from([0, 200, 100, 50]))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

test("a photo of 10 MB is attached, shown by its URL after a reload, and kept by an edit", async () => {
  const { chat, page } = await tests.visit();
  const photo = pngOf(10 * 1_048_576);
  await page.getByLabel("Files to attach").setInputFiles([
    { name: "rome.png", mimeType: "image/png", buffer: photo },
    { name: "not-sent.png", mimeType: "image/png", buffer: pngOf(10) },
  ]);
  await chat.button("Remove not-sent.png").click();
  await chat.send("Which tram goes to the harbour?");
  // The page reads the file before it sends the message.
  await chat.messages.nth(1).waitFor();
  await chat.answered();
  await chat.reload();
  const picture = page.getByRole("img", { name: "rome.png" });
  await picture.scrollIntoViewIfNeeded();
  const width = () => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth);
  await expect.poll(width).toBe(1);
  const url = (await picture.getAttribute("src")) ?? "";
  expect(url).toMatch(/^\/api\/chats\/[^/]+\/files\/[\w-]{43}\?type=image%2Fpng$/);
  expect(await page.getByRole("img", { name: "not-sent.png" }).count()).toBe(0);
  await chat.act(chat.messages.first(), "Edit");
  await page.getByRole("textbox", { name: "Edit your message" }).fill("How is this chat stored?");
  await page.keyboard.press("Enter");
  await chat.answered();
  await chat.reload();
  expect(await picture.getAttribute("src")).toBe(url);
  const loaded = await page.request.get(new URL(url, page.url()).href);
  expect(Buffer.compare(await loaded.body(), photo)).toBe(0);
});
