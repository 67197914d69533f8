import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "../../conformance-tests/servers/browser.ts";
import { navigation } from "../navigation.ts";
import { built, root } from "../places.ts";
import { type StaticServer, serveSite } from "./static-server.ts";

const run = promisify(execFile);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pictures = join(root, ".results/site");
/** Pages of every kind: all other pages have the same parts. */
const KINDS = [
  "index",
  "tutorial/first-conversation",
  "reference/comparison",
  "reference/protocol",
  "generated/benchmarks",
  "reference/api/@scrollback/store-sqlite",
];

let site: StaticServer;
let browser: Browser;
let home = "";

beforeAll(async () => {
  await run(process.execPath, ["build.ts"], { cwd: join(import.meta.dirname, "..") });
  await rm(pictures, { recursive: true, force: true });
  await mkdir(pictures, { recursive: true });
  home = await mkdtemp(join(tmpdir(), "scrollback-site-"));
  site = await serveSite();
  browser = await chromium.launch({
    executablePath: findBrowser(),
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    env: { ...process.env, HOME: home },
  });
}, 900_000);
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true, maxRetries: 3 });
});

/** Waits until VitePress's code runs on the prerendered page. */
const hydrated = (page: Page) =>
  page.waitForFunction(() => "__vue_app__" in (document.querySelector("#app") ?? {}));

/** A page in a separate profile, and its problems, including requests to other hosts. */
async function visit(place: string, width: number, colorScheme: "light" | "dark" = "light") {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme,
    reducedMotion: "reduce",
  });
  // Node.js makes the requests: Chromium cancels its own whenever a network of the machine changes, as containers start.
  await context.route(`${site.url}/**`, async (route) => route.fulfill({ response: await route.fetch() }));
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && errors.push(message.text())));
  page.on("pageerror", (error) => void errors.push(String(error)));
  page.on("request", (request) => void (request.url().startsWith(site.url) || errors.push(request.url())));
  await page.goto(`${site.url}/${place}.html`);
  await hydrated(page);
  const close = async () => {
    // The page may still be loading the pages that it links to.
    await context.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  };
  return { page, errors, [Symbol.asyncDispose]: close };
}

/** The elements that are wider than the page, and the pictures that are not shown. */
const faultsOf = (page: Page) =>
  page.evaluate(() => {
    const faults: string[] = [];
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth)
      faults.push(`the page is ${scrollWidth} wide in a window of ${clientWidth}`);
    for (const picture of document.images) {
      if (picture.complete && picture.naturalWidth === 0) faults.push(`${picture.src} does not show`);
      if (!picture.alt) faults.push(`${picture.src} has no text`);
    }
    return faults;
  });

test("llms.txt lists every page, and each exists as Markdown", () => {
  const list = readFileSync(join(built, "llms.txt"), "utf8");
  const named = [...list.matchAll(/\]\(\/([^)]+)\)/g)].map(([, page]) => page ?? "");
  expect(named).toEqual(navigation.flatMap(({ pages }) => pages.map(([, place]) => `${place}.md`)));
  for (const page of named) expect(readFileSync(join(built, page), "utf8")).toMatch(/^# /m);
  expect(readFileSync(join(built, "llms-full.txt"), "utf8")).toContain("# One atomic commit, exactly once");
});

test("every page fits a phone, shows its pictures and loads nothing from other sites", async () => {
  const places = globSync("**/*.html", { cwd: built }).map((file) => file.replace(/\.html$/, ""));
  expect(places.length).toBeGreaterThan(navigation.flatMap(({ pages }) => pages).length);
  await using visited = await visit("index", 390);
  const { page, errors } = visited;
  const faults: string[] = [];
  for (const place of places.sort()) {
    await page.goto(`${site.url}/${place}.html`);
    await hydrated(page);
    for (const fault of [...(await faultsOf(page)), ...errors.splice(0)]) faults.push(`${place}: ${fault}`);
  }
  expect(faults).toEqual([]);
}, 600_000);

const looks = [
  [1600, "light"],
  [1280, "dark"],
  [390, "light"],
] as const;
describe.each(looks)("at %i px, %s", (width, scheme) => {
  test.each(KINDS)("%s fits the window and passes WCAG AA", async (place) => {
    await using visited = await visit(place, width, scheme);
    await visited.page.screenshot({
      path: join(pictures, `${place.replaceAll("/", "-")}-${width}-${scheme}.png`),
    });
    expect(await faultsOf(visited.page)).toEqual([]);
    await visited.page.evaluate(axe);
    const violations = await visited.page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        axe: {
          run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
        };
      };
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
      // The rule reads "Search" and the key beside it as one word, "SearchK", which is not in the button's name.
      const rules = { "label-content-name-mismatch": { enabled: false } };
      const { violations } = await axe.run({ runOnly: { type: "tag", values: tags }, rules });
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3)}`);
    });
    expect(violations).toEqual([]);
  });
});

describe("keyboard navigation", () => {
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");

  test("the first key skips the navigation, and each link shows its focus", async () => {
    await using visited = await visit("how-to/choose-a-backend", 1280);
    const { page } = visited;
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.closest("main, .VPContent") !== null)).toBe(
      true,
    );
    const outline = await page.evaluate(() => {
      const style = getComputedStyle(document.activeElement ?? document.body);
      return style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) > 0;
    });
    expect(outline).toBe(true);
  });

  test("search opens, finds a page and opens it", async () => {
    await using visited = await visit("index", 1280);
    const { page } = visited;
    await page.keyboard.press("Control+k");
    await page.locator(".VPLocalSearchBox input").waitFor();
    await page.keyboard.type("exactly once");
    await page.locator(".VPLocalSearchBox .result").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/(explanation|how-to|reference)\//);
    expect(visited.errors).toEqual([]);
  });

  test("the menu of a narrow window opens, and links to another page", async () => {
    await using visited = await visit("how-to/choose-a-backend", 390);
    const { page } = visited;
    await page.locator(".VPLocalNav .menu").focus();
    await page.keyboard.press("Enter");
    const link = page.locator(".VPSidebar.open a", { hasText: "Deploy" });
    await link.waitFor();
    await link.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/how-to\/deploy/);
    await page.locator("h1", { hasText: "Deploy" }).waitFor();
  });

  test("the theme can be switched, and is kept", async () => {
    await using visited = await visit("how-to/choose-a-backend", 1280);
    const { page } = visited;
    await page.locator(".VPNavBar .VPSwitchAppearance").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.documentElement.classList.contains("dark"));
    await page.reload();
    expect(await page.evaluate(() => document.documentElement.classList.contains("dark"))).toBe(true);
  });
});
