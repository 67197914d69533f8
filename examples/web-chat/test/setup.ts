import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { startBrowser, type TestBrowser, type Visit } from "../../../test/browser.ts";
import type { ServerProcess } from "../../test/server-process.ts";
import { ChatPage } from "./chat-page.ts";
import { startWebChat, type WebChatOptions } from "./web-chat.ts";

export interface WebChatTests {
  readonly server: ServerProcess;
  /** The folder of the server's files. */
  readonly folder: string;
  /** An empty folder for servers that the test starts. */
  newFolder(): Promise<string>;
  /** Starts a server, which is stopped at the end of the test. */
  start(folder: string, options?: WebChatOptions): Promise<ServerProcess>;
  visit(url?: string, options?: BrowserContextOptions & { like?: Page }): Promise<Visit & { chat: ChatPage }>;
}

/** A browser and a server for the tests of a file. A test fails if its pages log unexpected errors. */
export function setUpWebChat(): WebChatTests {
  let browser: TestBrowser;
  let server: ServerProcess;
  let folder: string;
  const folders: string[] = [];
  const servers: ServerProcess[] = [];
  const visits: Visit[] = [];

  const newFolder = async () => {
    const made = await mkdtemp(join(tmpdir(), "scrollback-web-chat-"));
    folders.push(made);
    return made;
  };
  beforeAll(async () => {
    folder = await newFolder();
    [browser, server] = await Promise.all([startBrowser(), startWebChat(folder)]);
  });
  afterEach(async () => {
    const all = visits.splice(0);
    for (const { page } of all) await page.context().close();
    for (const one of servers.splice(0)) await one[Symbol.asyncDispose]();
    expect(all.flatMap(({ errors }) => errors).join("\n")).toBe("");
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    for (const one of folders) await rm(one, { recursive: true, force: true });
  });

  return {
    get server() {
      return server;
    },
    get folder() {
      return folder;
    },
    newFolder,
    async start(at, options) {
      const started = await startWebChat(at, options);
      servers.push(started);
      return started;
    },
    async visit(url = server.url, options = {}) {
      const one = await browser.visit(url, options);
      visits.push(one);
      return { ...one, chat: new ChatPage(one.page) };
    },
  };
}
