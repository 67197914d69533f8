/**
 * `node screenshots.ts [folder]` takes ten screenshots of the web chat with the scripted model; default: docs/images/web-chat.
 * The page prefers Inter and JetBrains Mono: install them (Debian: fonts-inter, fonts-jetbrains-mono) for the same pictures.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { load, startBrowser } from "../../../test/browser.ts";
import { ChatPage } from "./chat-page.ts";
import { importChats } from "./import-chats.ts";
import { startWebChat } from "./web-chat.ts";

const [, , target = join(import.meta.dirname, "../../../docs/images/web-chat")] = process.argv;
const DAY_MS = 86_400_000;
const WIDE = { width: 1_280, height: 800 };
const WIDEST = { width: 1_600, height: 900 };
const NARROW = { width: 390, height: 844 };

/** The other chats in the sidebar. */
const OTHERS = [
  { title: "Packing list for two weeks by train", daysAgo: 0.1, pinned: true },
  { title: "Words for the opening speech", daysAgo: 0.2 },
  { title: "Why the heating comes on at night", daysAgo: 0.6 },
  { title: "Recipe: lentils with lemon", daysAgo: 1 },
  { title: "Explain compare-and-set with an example", daysAgo: 1.2 },
  { title: "Letter to the landlord about the window", daysAgo: 3 },
  { title: "Names for a sailing boat", daysAgo: 4 },
  { title: "From CSV to SQLite in one command", daysAgo: 12 },
  { title: "A quiz about rivers in Europe", daysAgo: 19 },
  { title: "Which bicycle lock is worth it", daysAgo: 26 },
];

const folder = await mkdtemp(join(tmpdir(), "scrollback-screenshots-"));
await using server = await startWebChat(folder, { env: { WORD_MS: "20" } });
await using browser = await startBrowser();
const profile = await browser.visit(server.url, {
  viewport: WIDE,
  colorScheme: "light",
  reducedMotion: "reduce",
  deviceScaleFactor: 1.5,
});
profile.expect("409");

interface State {
  readonly name: string;
  /** The title that the server generated for the chat. */
  readonly title?: string;
  readonly size?: { width: number; height: number };
  readonly theme?: "dark";
  show(chat: ChatPage, page: Page): Promise<void>;
}

const TRAMS = "Which tram goes to the harbour?";
const STORED = "How is this chat stored?";

const states: readonly State[] = [
  { name: "new-chat", size: WIDEST, show: (chat) => chat.chats.getByText("Pinned").waitFor() },
  { name: "answer", title: "How chats are stored", show: (chat) => chat.send(STORED) },
  {
    name: "answer-dark",
    title: "Trams to the harbour",
    theme: "dark",
    async show(chat) {
      await chat.send(TRAMS);
      await chat.send(STORED);
    },
  },
  {
    name: "answering",
    async show(chat, page) {
      await chat.send(TRAMS);
      await page.getByRole("heading", { level: 1, name: "Trams to the harbour" }).waitFor();
      await chat.send(STORED, { wait: false });
      await chat.messages.last().getByText("If you close the tab").waitFor();
    },
  },
  {
    name: "stopped",
    title: "Counting",
    async show(chat, page) {
      await chat.send("Count to 120", { wait: false });
      await chat.messages.last().getByText("30 31 32").waitFor();
      await chat.button("Stop").click();
      await page.getByText("You stopped this answer.").waitFor();
    },
  },
  {
    name: "approval",
    title: "Delete a file",
    async show(chat, page) {
      await chat.send("Delete draft.txt");
      await page.getByText("Delete draft.txt?").waitFor();
    },
  },
  {
    name: "question-dark",
    title: "A weekend away",
    theme: "dark",
    async show(chat, page) {
      await chat.send("Plan a weekend for me");
      await page.getByText("What should the weekend be mostly about?").waitFor();
    },
  },
  {
    name: "updated-elsewhere",
    title: "Trams to the harbour",
    async show(chat, page) {
      await chat.send(TRAMS);
      const other = await browser.visit(page.url(), { like: page });
      await new ChatPage(other.page).send("And the ferry?");
      await chat.send("Which one is the last?", { wait: false });
      await page.getByRole("alert").waitFor();
      await other.page.close();
    },
  },
  { name: "narrow", title: "Trams to the harbour", size: NARROW, show: (chat) => chat.send(TRAMS) },
  {
    name: "narrow-chats-dark",
    title: "Trams to the harbour",
    size: NARROW,
    theme: "dark",
    async show(chat) {
      await chat.send(TRAMS);
      await chat.button("Show the list of chats").click();
      await chat.chats.getByText("Pinned").waitFor();
    },
  },
];

await mkdir(target, { recursive: true });
for (const { name, title, size = WIDE, theme = "light", show } of states) {
  await profile.page.request.delete(`${server.url}/api/chats`);
  const now = Date.now();
  await importChats(
    profile.page,
    OTHERS.map(({ daysAgo, ...chat }) => ({ ...chat, activeAt: now - daysAgo * DAY_MS })),
  );
  const { page, expect } = await browser.visit("about:blank", { like: profile.page });
  expect("409");
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: theme });
  await load(page, server.url);
  const chat = new ChatPage(page);
  await chat.field.waitFor();
  await show(chat, page);
  if (title !== undefined) await page.getByRole("heading", { level: 1, name: title }).waitFor();
  await page.screenshot({ path: join(target, `${name}.png`) });
  await page.close();
  console.log(`${name}.png`);
}
await rm(folder, { recursive: true, force: true });
