import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { Client } from "pg";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { packedPackages } from "../../../conformance-tests/test/fixtures/pack-packages.ts";
import { load, startBrowser, type TestBrowser } from "../../../test/browser.ts";
import type { ServerProcess } from "../../test/server-process.ts";
import { buildApp, credentials, startApp } from "./next-app.ts";

const run = promisify(execFile);
const app = join(import.meta.dirname, "..");
const BUILD_MS = 900_000;

let temp = "";
beforeAll(async () => {
  temp = await mkdtemp(join(tmpdir(), "scrollback-nextjs-"));
});
afterAll(() => rm(temp, { recursive: true, force: true }));

/** A URL of an empty database, which is removed at the end of the test if it is on the shared server of PostgreSQL. */
async function databaseOn(backend: string): Promise<string> {
  if (backend === "sqlite") return `sqlite:${join(temp, `${crypto.randomUUID()}.db`)}`;
  const { url } = await sharedServer(backend as "redis");
  if (backend === "dynamodb") return `dynamodb://nextjs?region=eu-central-1&endpoint=${url}`;
  if (backend !== "postgres") return url;
  const name = `nextjs_${crypto.randomUUID().slice(0, 8)}`;
  const admin = new Client(url);
  await admin.connect();
  onTestFinished(async () => {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });
  await admin.query(`CREATE DATABASE ${name}`);
  return Object.assign(new URL(url), { pathname: name }).href;
}

/** Sends a message to the app's route, and returns the answer's text and the number of stored messages. */
async function ask({ url, output }: ServerProcess, text: string) {
  const id = crypto.randomUUID();
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  const response = await fetch(`${url}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id, message }),
  });
  const stream = await response.text();
  expect(response.status, stream + output()).toBe(200);
  const answer = [...stream.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta).join("");
  const read = await fetch(`${url}/api/chats/${id}`);
  const { messages } = (await read.json()) as { messages: unknown[] };
  return { answer, stored: messages.length };
}

describe("the app, with all adapters installed", () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    [browser] = await Promise.all([startBrowser(), buildApp(app)]);
  }, BUILD_MS);
  afterAll(() => browser?.[Symbol.asyncDispose]());

  test.each(["sqlite", "postgres", "redis", "mongodb", "dynamodb"])(
    "answers and stores on %s",
    async (name) => {
      for (const [variable, value] of Object.entries(credentials)) vi.stubEnv(variable, value);
      const database = await databaseOn(name);
      await using stores = await openStores(database);
      // A table of DynamoDB costs money, so it is made by this call only.
      if (name === "dynamodb") await stores.setup();
      await using started = await startApp(app, database);
      expect(await ask(started, "Hello")).toEqual({ answer: "You wrote: Hello", stored: 2 });
    },
  );

  test.each(["sqlite", "postgres"])("is a chat in the browser on %s", async (name) => {
    await using started = await startApp(app, await databaseOn(name));
    const { page, errors } = await browser.visit(started.url);
    const chat = new AppPage(page);

    await chat.send("Count to 200 for me, please");
    await chat.chats.getByRole("link", { name: "Count to 200 for" }).waitFor();
    await page.getByText("1 2 3 4 5").waitFor();
    await load(page);
    await chat.button("Stop").waitFor();
    await expect.poll(() => chat.texts()).toEqual(["Count to 200 for me, please", numbers(200)]);
    await chat.button("Send").waitFor();

    await chat.send("Count to 900");
    await expect.poll(async () => (await chat.texts()).at(-1)).toMatch(/^1 2 3 4 5 6 7 8 9 10 11\b/);
    await chat.button("Stop").click();
    await chat.button("Send").waitFor();
    await load(page);
    // The messages are streamed behind the page's frame.
    await expect.poll(() => chat.texts()).toHaveLength(4);
    const stopped = (await chat.texts()).at(-1) ?? "";
    expect(stopped).toMatch(/^1 2 3 4 5 6 7 8 9 10 11\b/);
    expect(stopped.length).toBeLessThan(numbers(900).length);

    const first = page.url();
    await page.getByRole("link", { name: "New chat" }).click();
    await page.waitForURL((url) => url.href !== first && url.pathname.startsWith("/chat/"));
    await chat.send("Hello");
    await page.getByText("You wrote: Hello").waitFor();
    await expect.poll(() => chat.titles()).toEqual(["Hello", "Count to 200 for"]);

    await chat.button("Rename Hello").click();
    await page.getByRole("textbox", { name: "Title" }).fill("Greetings");
    await chat.button("Save").click();
    await expect.poll(() => chat.titles()).toEqual(["Greetings", "Count to 200 for"]);

    await chat.button("Delete Count to 200 for").click();
    await expect.poll(() => chat.titles()).toEqual(["Greetings"]);
    const second = page.url();
    await chat.button("Delete Greetings").click();
    await expect.poll(() => chat.titles()).toEqual([]);
    await page.waitForURL((url) => url.href !== second && url.pathname.startsWith("/chat/"));
    expect(await chat.texts()).toEqual([]);
    await load(page, first);
    await chat.button("Send").waitFor();
    expect(await chat.texts()).toEqual([]);
    await page.context().close();
    expect(errors).toEqual([]);
  });
});

describe("the app in an empty folder, with one adapter installed", () => {
  let folder = "";
  beforeAll(async () => {
    folder = join(temp, "app");
    const isOwn = (path: string) => !/\/(\.next|node_modules|test|[\w-]+\.db.*)$/.test(path);
    await cp(app, folder, { recursive: true, filter: isOwn });
    const manifest = JSON.parse(await readFile(join(app, "package.json"), "utf8"));
    const adapters = ["store-dynamo", "store-mongo", "store-postgres", "store-redis"];
    const isInstalled = (name: string) =>
      !adapters.some((adapter) => name.endsWith(adapter)) && name !== "pg";
    const packed = new Map((await packedPackages()).map(({ name, tarball }) => [name, tarball]));
    const dependencies = { ...manifest.dependencies, "@scrollback/collections": "" };
    manifest.dependencies = Object.fromEntries(
      Object.entries(dependencies)
        .filter(([name]) => isInstalled(name))
        .map(([name, range]) => [name, packed.has(name) ? `file:${packed.get(name)}` : range]),
    );
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    // As create-next-app writes it.
    const config = "export default { cacheComponents: true, partialPrefetching: true };\n";
    await writeFile(join(folder, "next.config.mjs"), config);
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder });
  }, BUILD_MS);

  test.each([["Turbopack"], ["webpack", "--webpack"]])(
    "is built by %s, and names the package of another adapter",
    async (_, ...flags) => {
      await buildApp(folder, ...flags);
      await using started = await startApp(folder, await databaseOn("sqlite"));
      expect(await ask(started, "Hello")).toEqual({ answer: "You wrote: Hello", stored: 2 });
      await using other = await startApp(folder, "redis://127.0.0.1");
      expect((await fetch(`${other.url}/api/chats`)).status).toBe(500);
      expect(other.output()).toContain(
        "openStores: @scrollback/store-redis was not found; run: npm install @scrollback/store-redis ioredis",
      );
    },
    BUILD_MS,
  );
});

const numbers = (last: number) => Array.from({ length: last }, (_, index) => index + 1).join(" ");

/** A user's actions on the page. */
class AppPage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  get chats() {
    return this.page.getByRole("navigation", { name: "Chats" });
  }

  button(name: string) {
    return this.page.getByRole("button", { name, exact: true });
  }

  async send(text: string): Promise<void> {
    const field = this.page.getByRole("textbox", { name: "Message" });
    await field.fill(text);
    await field.press("Enter");
    await this.page.getByRole("listitem").getByText(text, { exact: true }).last().waitFor();
  }

  async texts(): Promise<string[]> {
    return await this.page.getByRole("list", { name: "Messages" }).getByRole("listitem").allInnerTexts();
  }

  async titles(): Promise<string[]> {
    return await this.chats.getByRole("listitem").getByRole("link").allInnerTexts();
  }
}
