import { ChatStore } from "@scrollback/chats";
import type { StoreFactory } from "@scrollback/store-core";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { accessibilityProblems, NARROW, WIDE } from "../../../test/axe.ts";
import { startBrowser, type TestBrowser, type Visit } from "../../../test/browser.ts";
import { startUi } from "./inspector.ts";
import { Folder } from "./run.ts";

let browser: TestBrowser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.[Symbol.asyncDispose]());
const visits: Visit[] = [];
afterEach(async () => {
  const all = visits.splice(0);
  for (const { page } of all) await page.context().close();
  expect(all.flatMap(({ errors }) => errors)).toEqual([]);
});

interface Open extends AsyncDisposable {
  /** Ends the command. */
  end(): Promise<number>;
  readonly page: Page;
  readonly stores: StoreFactory;
}

/** The page of an inspector of some stores. */
async function open(fill: (stores: StoreFactory) => Promise<void>): Promise<Open> {
  const folder = new Folder();
  const stores = folder.stores();
  await fill(stores);
  const ui = await startUi(folder.url());
  const visit = await browser.visit(ui.url, { viewport: WIDE, reducedMotion: "reduce" });
  visits.push(visit);
  return {
    page: visit.page,
    stores,
    end: () => ui.end(),
    async [Symbol.asyncDispose]() {
      await visit.page.close();
      await ui.end();
      await stores.close();
      folder[Symbol.dispose]();
    },
  };
}

interface Message {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** Scrolls an element down, or up by a negative number of pixels. */
const scroll = (one: Locator, pixels: number) =>
  one.evaluate((found: unknown, by) => {
    (found as { scrollTop: number }).scrollTop += by;
  }, pixels);
const say = (content: string) => ({ role: "user" as const, content });
const numbered = (count: number) => Array.from({ length: count }, (_, index) => say(`Message ${index + 1}`));
const options = (page: Page) => page.getByRole("option");
const articles = (page: Page) => page.getByRole("article");

/** Opens a thread by its row. */
async function choose(page: Page, name: string): Promise<void> {
  await options(page).filter({ hasText: name }).first().click();
  await page.getByRole("heading", { level: 2, name }).waitFor();
}

test("hostile texts run nothing, and are shown as they are", async () => {
  const texts = [
    "<img src=x onerror=window.ran=1>",
    "<script>window.ran=1</script>",
    '"><svg onload=window.ran=1>',
    "javascript:window.ran=1",
    "a\u202eb",
  ];
  const hostile = texts.join(" ");
  await using opened = await open(async (stores) => {
    await stores.open(`t ${hostile}`).commit({
      append: [
        ...texts.map(say),
        {
          role: "assistant",
          authorName: hostile,
          content: [
            { type: "reasoning", text: hostile },
            { type: "tool-call", toolCallId: hostile, toolName: hostile, input: { [hostile]: hostile } },
            {
              type: "file",
              mediaType: `text/html,${hostile}`,
              filename: hostile,
              data: "javascript:window.ran=1",
            },
            {
              type: "file",
              mediaType: "image/svg+xml",
              data: Buffer.from("<svg onload='window.ran=1'/>").toString("base64"),
            },
          ],
        },
        { role: "user", content: "", metadata: JSON.parse(`{"__proto__":{"x":"${texts[0]}"}}`) },
      ],
      metadata: { title: hostile },
    });
  });
  const { page } = opened;
  await page.setViewportSize({ width: 1_280, height: 3_000 });
  await options(page).first().click();
  await expect.poll(() => articles(page).count()).toBe(7);
  expect(await page.locator("h2").textContent()).toBe(hostile.replace("\u202e", "\\u202e"));
  await page.getByText("Metadata", { exact: true }).click();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Verified: readable, 7 messages").waitFor();
  const bodies = await page.locator("article .text .body").allTextContents();
  expect(bodies).toEqual(texts.map((text) => text.replace("\u202e", "\\u202e")));
  expect(await page.evaluate("window.ran")).toBeUndefined();
  expect(await page.locator("article img, article svg, article script").count()).toBe(0);
  const links = await Promise.all((await page.locator("a").all()).map((one) => one.getAttribute("href")));
  expect(links.filter((href) => !/^(\/api\/|#)/.test(String(href)))).toEqual([]);
  expect(visits.at(-1)?.errors).toEqual([]);
  // The policy holds if the page should ever make markup of a text.
  const markup = await page.evaluate("try { document.body.innerHTML = '<b>'; 'made' } catch { 'refused' }");
  expect(markup).toBe("refused");
  visits.at(-1)?.errors.splice(0);
});

test("an image of a message is shown, another file is a link", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await using opened = await open(async (stores) => {
    await stores.open("files").addMessages([
      {
        role: "user",
        content: [
          { type: "file", mediaType: "image/png", data: png, filename: "dot.png" },
          { type: "file", mediaType: "application/zip", data: png },
        ],
      },
    ]);
  });
  const { page } = opened;
  await choose(page, "files");
  const image = page.getByRole("img", { name: "dot.png, image/png" });
  await expect
    .poll(() => image.evaluate((one: unknown) => (one as { naturalWidth: number }).naturalWidth))
    .toBe(1);
  expect(await page.getByRole("link", { name: "application/zip" }).count()).toBe(1);
});

test("a new message appears, and the page stays where its reader is", async () => {
  await using opened = await open(async (stores) => {
    await stores.open("live").addMessages(numbered(300));
  });
  const { page, stores } = opened;
  await choose(page, "live");
  await page.getByText("Message 300", { exact: true }).waitFor();
  await stores.open("live").addMessages([say("Just now")]);
  await page.getByText("Just now").waitFor();
  await page.getByRole("status").getByText("1 new message").waitFor();
  // Further up, what is on the screen stays.
  await scroll(page.getByRole("feed"), -2_000);
  const seen = page.getByText("Message 280", { exact: true });
  await seen.waitFor();
  const before = await seen.boundingBox();
  await stores.open("live").addMessages([say("Later")]);
  await page.getByText("302", { exact: true }).first().waitFor();
  expect((await seen.boundingBox())?.y).toBe(before?.y);
  // What replaces messages is shown too.
  await stores.open("live").replaceMessages([say("Only this")]);
  await page.getByText("Only this").waitFor();
  await expect.poll(() => articles(page).count()).toBe(1);
  await stores.deleteThread("live");
  await page.getByText("the thread does not exist").waitFor();
});

test("everything works by keyboard", async () => {
  await using opened = await open(async (stores) => {
    await stores.open("a-1").addMessages(numbered(3));
    await stores.open("b-2").addMessages(numbered(3));
    await stores.open("b-3").addMessages(numbered(200));
  });
  const { page } = opened;
  const focused = () =>
    page.evaluate("document.activeElement.getAttribute('role') ?? document.activeElement.tagName");
  const active = async () => {
    const id = await page.getByRole("listbox").getAttribute("aria-activedescendant");
    return await page.locator(`#${id} .title`).textContent();
  };
  await expect.poll(() => options(page).count()).toBe(3);
  await page.keyboard.press("/");
  await page.keyboard.type("b-");
  await page.getByText("2 threads found in 3").waitFor();
  await page.keyboard.press("Enter");
  expect([await focused(), await active()]).toEqual(["listbox", "b-2"]);
  await page.keyboard.press("ArrowDown");
  expect(await active()).toBe("b-3");
  await page.keyboard.press("Home");
  expect(await active()).toBe("b-2");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 2, name: "b-3" }).waitFor();
  await expect.poll(focused).toBe("ARTICLE");
  const text = () => page.evaluate("document.activeElement.querySelector('.body')?.textContent");
  expect(await text()).toBe("Message 200");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  expect(await text()).toBe("Message 198");
  await page.keyboard.press("Home");
  expect(await text()).toMatch(/^Message \d+$/);
  expect(await articles(page).count()).toBeLessThan(60);
  await page.keyboard.press("Escape");
  expect(await focused()).toBe("listbox");
});

test("chats by owner, with archived ones, and the versions of an answer", async () => {
  await using opened = await open(async (stores) => {
    const mine = new ChatStore<Message>({ stores }).of("ada");
    await mine.create({ id: "trams", title: "Trams", messages: [{ id: "q", ...say("Which tram?") }] });
    await mine.append("trams", [{ id: "one", role: "assistant", content: "Line 3" }]);
    await mine.edit(
      "trams",
      "one",
      { id: "two", role: "assistant", content: "Line 4" },
      { keepSibling: true },
    );
    await mine.create({ id: "old", title: "Old times", archived: true });
  });
  const { page } = opened;
  await page.getByRole("button", { name: "Chats" }).click();
  await options(page).getByText("ada").click();
  await choose(page, "Trams");
  await page
    .getByRole("article")
    .getByRole("link", { name: /^Sibling one/ })
    .click();
  await page.getByText("Line 3").waitFor();
  await page.goBack();
  await page.getByRole("feed").getByText("Line 4").waitFor();
  await page.getByRole("button", { name: "Archived" }).click();
  await choose(page, "Old times");
});

test("of long lists only what is visible is in the document", async () => {
  await using opened = await open(async (stores) => {
    for (let start = 0; start < 1_200; start += 100)
      await Promise.all(numbered(100).map((one, i) => stores.open(`thread-${start + i}`).addMessages([one])));
    for (let start = 0; start < 1_000; start += 500)
      await stores
        .open("long")
        .addMessages(
          numbered(500).map((_, i) => say(`Number ${start + i + 1}${" and more".repeat(i % 50)}`)),
        );
  });
  const { page } = opened;
  const list = page.getByRole("listbox");
  for (let count = 0; count < 20; count++) {
    await list.press("End");
    if (await page.getByText("1,201 threads").isVisible()) break;
    await page.waitForTimeout(100);
  }
  await page.getByText("1,201 threads").waitFor();
  await list.press("End");
  expect(await options(page).last().getAttribute("aria-posinset")).toBe("1201");
  expect(await options(page).count()).toBeLessThan(40);
  await page.getByRole("searchbox").fill("long");
  await choose(page, "long");
  const feed = page.getByRole("feed");
  const number = (count: number) => page.getByText(new RegExp(`^Number ${count}( and more)*$`));
  await number(1_000).waitFor();
  expect(await articles(page).count()).toBeLessThan(40);
  expect(await articles(page).last().getAttribute("aria-posinset")).toBe("1000");
  expect(await articles(page).last().getAttribute("aria-setsize")).toBe("1000");
  // Page by page to the first message, without a gap.
  const seen = new Set<number>();
  const note = async () => {
    for (const text of await page.locator("article .body").allTextContents())
      seen.add(Number.parseInt(text.slice(7), 10));
  };
  for (let count = 0; count < 1_000 && !seen.has(1); count++) {
    await scroll(feed, -550);
    await page.waitForTimeout(20);
    await note();
  }
  expect(Array.from({ length: 1_000 }, (_, i) => i + 1).filter((one) => !seen.has(one) && one < 990)).toEqual(
    [],
  );
  await page.getByRole("button", { name: "Newest" }).click();
  await number(1_000).waitFor();
  // What has the focus keeps it, out of sight too.
  await articles(page).last().focus();
  await scroll(feed, -5_000);
  expect(await page.evaluate("document.activeElement.textContent")).toContain("Number 1000");
  await page.keyboard.press("ArrowUp");
  await number(999).waitFor();
  await page.getByRole("button", { name: "Oldest" }).click();
  await number(1).waitFor();
  await scroll(feed, 1e9);
  await number(100).waitFor();
  await number(101).waitFor();
  expect(await articles(page).count()).toBeLessThan(40);
});

test("axe finds no problem, light and dark, wide and narrow", async () => {
  await using opened = await open(async (stores) => {
    await stores.open("plain").commit({ append: numbered(50), metadata: { title: "A title" } });
    await stores.open("calls").addMessages([
      say("x".repeat(9_000)),
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Thinking" },
          { type: "tool-call", toolCallId: "c", toolName: "timetable", input: { stop: "harbour" } },
          { type: "file", mediaType: "application/zip", data: "aGk=", filename: "a.zip" },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c", toolName: "timetable", output: "no", isError: true },
        ],
      },
    ]);
    await new ChatStore<Message>({ stores })
      .of("ada")
      .create({ id: "c", title: "Chat", messages: [{ id: "q", ...say("Hi") }] });
  });
  const { page } = opened;
  const found: string[] = [];
  const look = async (state: string) => void found.push(...(await accessibilityProblems(page, state)));
  await options(page).first().waitFor();
  await look("list");
  await choose(page, "A title");
  await page.getByText("Metadata", { exact: true }).click();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Verified: readable").waitFor();
  await look("messages");
  await choose(page, "calls");
  await page.getByText("Cut: this text has 9,000 characters.").waitFor();
  await look("calls");
  await page.getByRole("button", { name: "Chats" }).click();
  await options(page).getByText("ada").waitFor();
  await look("owners");
  await page.getByRole("searchbox").fill("nothing");
  await page.getByText("0 owners found").waitFor();
  await look("no result");
  expect(found).toEqual([]);
});

test("a page whose command has ended says so", async () => {
  await using opened = await open(async (stores) => {
    await stores.open("t").addMessages(numbered(2));
  });
  const { page } = opened;
  await choose(page, "t");
  await articles(page).nth(1).waitFor();
  visits.at(-1)?.expect("net::ERR_");
  await opened.end();
  await page.getByText("The inspector does not answer. Is the command still running?").waitFor();
  expect(await articles(page).count()).toBe(2);
});

test("on a narrow screen the list and the thread take turns", async () => {
  await using opened = await open(async (stores) => {
    await stores.open("t").addMessages(numbered(2));
  });
  const { page } = opened;
  await page.setViewportSize(NARROW);
  await choose(page, "t");
  expect(await page.getByRole("listbox").isVisible()).toBe(false);
  await page.getByRole("button", { name: "Back to the list" }).click();
  await choose(page, "t");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(NARROW.width);
});
