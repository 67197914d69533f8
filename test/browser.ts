import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { findBrowser } from "../conformance-tests/servers/browser.ts";

export interface Visit {
  readonly page: Page;
  /** What the page wrote to its console as an error, and what it threw, but for what was expected. */
  readonly errors: string[];
  /** Errors that the browser reports of requests that fail in this test, such as "409". */
  expect(...failures: string[]): void;
}

export interface TestBrowser extends AsyncDisposable {
  /** A page of a new profile, or of the profile of another page. */
  visit(url: string, options?: BrowserContextOptions & { like?: Page }): Promise<Visit>;
}

/** Chromium, with a home folder of its own. */
export async function startBrowser(): Promise<TestBrowser> {
  const home = await mkdtemp(join(tmpdir(), "scrollback-chromium-"));
  const browser = await chromium.launch({
    executablePath: findBrowser(),
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    env: { ...process.env, HOME: home },
  });
  return {
    async visit(url, { like, ...options } = {}) {
      const context = like?.context() ?? (await browser.newContext(options));
      const page = await context.newPage();
      const errors: string[] = [];
      const expected: string[] = [];
      const note = (text: string) => {
        if (!expected.some((failure) => text.includes(failure))) errors.push(text);
      };
      page.on("console", (message) => {
        if (message.type() === "error") note(message.text());
      });
      page.on("request", (request) => {
        const { origin, protocol } = new URL(request.url());
        if (protocol.startsWith("http") && new URL(origin).hostname !== "127.0.0.1")
          note(`a request to ${origin}`);
      });
      page.on("pageerror", (error) => note(String(error)));
      await page.goto(url);
      return { page, errors, expect: (...failures) => void expected.push(...failures) };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await rm(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
