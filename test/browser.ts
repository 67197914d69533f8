import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContextOptions, chromium, type Page, type Request } from "playwright-core";
import { findBrowser } from "../conformance-tests/servers/browser.ts";

export interface Visit {
  readonly page: Page;
  /** The page's console errors and uncaught exceptions, except expected ones. */
  readonly errors: string[];
  /** Declares failed requests, such as "409", that the browser will report in this test. */
  expect(...failures: string[]): void;
}

export interface TestBrowser extends AsyncDisposable {
  /** Opens a page in a new profile, or in the profile of another page. */
  visit(url: string, options?: BrowserContextOptions & { like?: Page }): Promise<Visit>;
}

/**
 * When a network interface of the machine comes or goes, as with the containers of other tests, Chromium gives up all requests that
 * wait for a connection, also to the machine itself: https://issues.chromium.org/issues/41465264.
 */
const INTERRUPTED = "net::ERR_NETWORK_CHANGED";

/** Opens `url`, or by default the open page once more. Does it again if the machine's network changed meanwhile. */
export async function load(page: Page, url?: string): Promise<void> {
  let isInterrupted: boolean;
  const onFailed = (request: Request) => {
    isInterrupted ||= request.failure()?.errorText === INTERRUPTED;
  };
  page.on("requestfailed", onFailed);
  do {
    isInterrupted = false;
    await (url === undefined ? page.reload() : page.goto(url)).catch((error: Error) => {
      if (!error.message.includes(INTERRUPTED)) throw error;
      isInterrupted = true;
    });
  } while (isInterrupted);
  page.off("requestfailed", onFailed);
}

/** Chromium with a separate home folder. */
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
      const expected = [INTERRUPTED];
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
      await load(page, url);
      return { page, errors, expect: (...failures) => void expected.push(...failures) };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await rm(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
