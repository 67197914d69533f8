import { expect, test } from "vitest";
import { accessibilityProblems, NARROW, WIDE } from "../../../test/axe.ts";
import { load } from "../../../test/browser.ts";
import { setUpWebChat } from "./setup.ts";

const tests = setUpWebChat();

test("axe finds no problem in any state of the page", async () => {
  const { chat, page } = await tests.visit(undefined, { viewport: WIDE, reducedMotion: "reduce" });
  const found = await accessibilityProblems(page, "empty");
  await chat.send("Which tram goes to the harbour?");
  await chat.send("How is this chat stored?");
  await chat.send("Please fail");
  await page.getByText("This answer failed.").waitFor();
  await chat.send("Delete notes.txt");
  await page.getByText("Delete notes.txt?").waitFor();
  found.push(...(await accessibilityProblems(page, "approval")));
  await chat.button("Deny").click();
  await page.getByText("I left notes.txt where it is.").waitFor();
  await chat.answered();
  await chat.send("Plan a weekend for me");
  await page.getByText("What should the weekend be mostly about?").waitFor();
  await chat.act(chat.messages.first(), "Edit");
  found.push(...(await accessibilityProblems(page, "edit, question")));
  await page.keyboard.press("Escape");
  await chat.button("Commands for this chat").click();
  found.push(...(await accessibilityProblems(page, "menu", [WIDE])));
  await page.keyboard.press("Escape");
  await chat.button("Delete all chats").click();
  found.push(...(await accessibilityProblems(page, "dialog")));
  await page.keyboard.press("Escape");
  await page.setViewportSize(NARROW);
  await chat.button("Show the list of chats").click();
  found.push(...(await accessibilityProblems(page, "drawer", [NARROW])));
  expect(found).toEqual([]);
}, 300_000);

test("every element is reachable by keyboard, and the focus is visible", async () => {
  const { chat, page } = await tests.visit();
  await chat.send("Count to 3");
  await expect.poll(() => chat.titles()).toEqual(["Counting"]);
  const focused = () =>
    page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.id);
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await chat.reload();
  await page.locator("a, button").first().focus();
  expect(await page.locator(":focus").innerText()).toBe("Skip to the chat");
  await press("Enter");
  await expect.poll(focused).toBe("chat");
  await press("Tab", "Tab");
  expect(await page.locator("main :focus").count()).toBe(1);

  await chat.chats.getByRole("button", { name: "Commands for Counting" }).focus();
  await press("Enter");
  await expect.poll(() => page.locator(":focus").innerText()).toBe("Rename");
  await press("ArrowDown");
  expect(await page.locator(":focus").innerText()).toBe("Pin");
  const outline = await page.locator(":focus").evaluate((element) => getComputedStyle(element).outlineStyle);
  expect(outline).toBe("solid");
  await press("End");
  expect(await page.locator(":focus").innerText()).toBe("Delete");
  await press("Escape");
  expect(await focused()).toBe("Commands for Counting");
  await press("Enter");
  await expect.poll(() => page.locator(":focus").innerText()).toBe("Rename");
  await press("Enter");
  await expect.poll(focused).toBe("Title of the chat");
  await page.keyboard.type("Three numbers");
  await press("Enter");
  await expect.poll(() => chat.titles()).toEqual(["Three numbers"]);

  await chat.messages.first().getByRole("button", { name: "Edit" }).focus();
  await press("Enter");
  await expect.poll(focused).toBe("Edit your message");
  await press("Escape");
  await expect.poll(focused).toBe("Edit");
  await chat.button("Delete all chats").focus();
  await press("Enter");
  await expect.poll(() => page.getByRole("dialog").count()).toBe(1);
  await press("Escape");
  await expect.poll(focused).toBe("Delete all chats");
});

test("screen readers announce the start and the text of an answer once", async () => {
  const { chat, page } = await tests.visit();
  const live = page.locator("[aria-live=polite]");
  await page.evaluate(() => {
    const region = document.querySelector("[aria-live=polite]");
    const told: string[] = [];
    Object.assign(window, { told });
    if (region !== null)
      new MutationObserver(() => told.push(region.textContent ?? "")).observe(region, {
        ...{ subtree: true, childList: true, characterData: true },
      });
  });
  await chat.send("Count to 12");
  const whole = "The assistant answered: 1 2 3 4 5 6 7 8 9 10 11 12";
  await expect.poll(() => live.innerText()).toBe(whole);
  expect(await page.evaluate("told")).toEqual(["The assistant is answering.", whole]);
});

test("on a narrow screen the chats are a drawer that Escape closes", async () => {
  const { chat, page } = await tests.visit(undefined, { viewport: NARROW });
  await chat.send("Count to 3");
  expect(await chat.chats.count()).toBe(0);
  await chat.button("Show the list of chats").click();
  await chat.chats.getByRole("link", { name: "Counting" }).waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => chat.chats.count()).toBe(0);
  expect(await page.locator(":focus").getAttribute("aria-label")).toBe("Show the list of chats");
  await chat.button("Show the list of chats").click();
  await chat.button("New chat").click();
  await page.getByText("What would you like to know?").waitFor();
  await expect.poll(() => chat.chats.count()).toBe(0);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
});

test("the theme is the system's until another one is chosen, and the choice is kept", async () => {
  const { chat, page } = await tests.visit(undefined, { colorScheme: "dark" });
  // The lightness in `lab(…)`, from 0 to 100.
  const lightness = () =>
    page.evaluate(() =>
      Number(/lab\(([\d.]+)/.exec(getComputedStyle(document.documentElement).backgroundColor)?.[1]),
    );
  expect(await lightness()).toBeLessThan(50);
  await chat.button("Use the light theme").click();
  expect(await lightness()).toBeGreaterThan(50);
  await chat.reload();
  expect(await lightness()).toBeGreaterThan(50);
  await chat.button("Use the dark theme").waitFor();
});

test("axe finds no problem in error states", async () => {
  const {
    chat,
    page,
    expect: allow,
  } = await tests.visit(undefined, { viewport: WIDE, reducedMotion: "reduce" });
  allow("503", "409", "404");
  await chat.send("Count to 3");
  await page.route("**/api/chat", (route) => route.fulfill({ status: 409, json: { error: "CONFLICT" } }));
  await chat.send("Count to 4", { wait: false });
  await page.getByRole("alert").waitFor();
  const found = await accessibilityProblems(page, "updated elsewhere");
  await page.route("**/api/chats**", (route) => route.fulfill({ status: 503, json: { message: "not now" } }));
  await load(page);
  await page.getByText("The chats could not be loaded.").waitFor();
  await page.getByText("The chat could not be loaded").waitFor();
  found.push(...(await accessibilityProblems(page, "not loaded")));
  await page.unroute("**/api/chats**");
  await load(page, `${tests.server.url}/chat/none`);
  await page.getByText("This chat does not exist").waitFor();
  found.push(...(await accessibilityProblems(page, "missing", [WIDE])));
  expect(found).toEqual([]);
}, 300_000);

test("an error shows that chats cannot be loaded, and they are loaded once that is possible", async () => {
  const { chat, page, expect: allow } = await tests.visit();
  await chat.send("Count to 3");
  allow("503", "404");
  await page.route("**/api/chats**", (route) => route.fulfill({ status: 503, json: { message: "not now" } }));
  await load(page);
  await page.getByText("The chats could not be loaded.").waitFor();
  await page.getByText("The chat could not be loaded").waitFor();
  await page.unroute("**/api/chats**");
  await chat.chats.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => chat.titles()).toEqual(["Counting"]);
  await page.getByRole("main").getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => chat.texts()).toEqual(["Count to 3", "1 2 3"]);
  await load(page, `${tests.server.url}/chat/none`);
  await page.getByText("This chat does not exist").waitFor();
  await chat.button("Start a new chat").click();
  await chat.field.waitFor();
});
