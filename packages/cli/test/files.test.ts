import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { partThreads, streamOf } from "@scrollback/collections/internal";
import type { StoreFactory } from "@scrollback/store-core";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { FileCheck, filesOf } from "../src/threads/file-work.ts";
import { Folder, jsonLines, run } from "./run.ts";
import { withChats } from "./with-chats.ts";

const CHAT = "chats:chat:ada:c";
const content = randomBytes(75_000).toString("base64");
const photo = `data:image/png;base64,${content}`;
const user = (id: string) => ({ id, role: "user" as const, content: `text of ${id}`, photo });
let folder: Folder;
let url: string;

beforeEach(async () => {
  folder = new Folder();
  onTestFinished(() => folder[Symbol.dispose]());
  url = folder.url();
  await using stores = folder.stores();
  await withChats(stores, async (mine) => {
    await mine.create({ id: "c", messages: [user("q")] });
    await mine.edit("c", "q", user("r"), { keepSibling: true });
    await mine.create({ id: "d", messages: [user("s")] });
  });
});

const isStored = (name: string) => readFileSync(folder.file(`${name}.db`)).includes(content.slice(0, 1_000));

test.each([[], ["--prefix", "chats:"]])(
  "a copy of chats has their files, and so has an export that is imported: %s %s",
  async (...selection) => {
    for (let time = 0; time < 2; time++)
      expect((await run(["copy", url, folder.url("copy"), "--verify", ...selection])).code).toBe(0);
    const file = folder.file("chats.jsonl");
    expect((await run(["export", url, "--output", file, ...selection])).code).toBe(0);
    for (let time = 0; time < 2; time++)
      expect((await run(["import", folder.url("imported"), file, "--verify"])).code).toBe(0);
    for (const name of ["copy", "imported"]) {
      await using stores = folder.stores(name);
      await withChats(stores, async (mine) => {
        expect((await mine.read("c"))?.entries[0]?.message).toEqual(user("r"));
        await mine.switchTo("c", "q");
        expect((await mine.read("c"))?.entries[0]?.message).toEqual(user("q"));
        await mine.delete("c");
        expect((await mine.read("d"))?.entries[0]?.message).toEqual(user("s"));
        await mine.delete("d");
      });
      await stores.close();
      expect(isStored(name)).toBe(false);
    }
  },
);

test("a line of a file that was changed is refused", async () => {
  const { stdout } = await run(["export", url, "--prefix", CHAT]);
  const lines = stdout.replace(/("type":"file".*"content":")..../, "$1AAAA");
  const { code, stderr } = await run(["import", folder.url("imported"), "-"], { input: lines });
  expect(code).not.toBe(0);
  expect(stderr).toContain("sha256 must be that of the content");
});

test("rm of the last chat with a file erases it; threads of contents are not listed", async () => {
  const { stdout } = await run(["ls", url]);
  expect(stdout).not.toContain("content:");
  expect((await run(["rm", url, CHAT, "--yes"])).code).toBe(0);
  expect(isStored("chats")).toBe(true);
  expect((await run(["rm", url, "chats:chat:ada:d", "--yes"])).code).toBe(0);
  expect(isStored("chats")).toBe(false);
});

test("show prints references in the place of files", async () => {
  const { stdout } = await run(["show", url, CHAT]);
  expect(stdout).toMatch(/"photo":"scrollback-file:[\w-]{43}:data:image\/png;base64,"/);
  expect(stdout).not.toContain(content.slice(0, 100));
});

test("stats counts files and their bytes beside messages, and their threads and indexes as neither threads nor lists", async () => {
  const statsOf = async (...args: string[]) =>
    jsonLines((await run(["stats", url, "--json", ...args])).stdout)[0];
  // The chats "c", with a sibling, and "d".
  const figures = { threads: 3, messages: 3, files: 1, fileBytes: 75_000, indexes: 1, entries: 2 };
  const stats = await statsOf();
  expect(stats).toMatchObject(figures);
  expect(stats).not.toHaveProperty("filesElsewhere");
  expect(stats?.bytes).toBeLessThan(10_000);
  expect(await statsOf("--prefix", CHAT)).toMatchObject({ threads: 1, files: 1, fileBytes: 75_000 });
  expect(await statsOf("--prefix", "sessions:")).not.toHaveProperty("files");
  const { stdout } = await run(["stats", url]);
  expect(stdout).toMatch(/^files {20}1$/m);
  expect(stdout).toMatch(/^size of files {12}75KB$/m);
});

test("threads of contents are selected by no prefix and no id", async () => {
  let id = "";
  {
    await using stores = folder.stores();
    for await (const { threadId } of stores.iterateThreads({ prefix: "scrollback:" })) id = threadId;
  }
  expect((await run(["ls", url, "--prefix", "scrollback:"])).stdout).toBe("");
  expect(await run(["rm", url, id, "--yes"])).toMatchObject({
    code: 5,
    stderr: `left alone: ${id}: the content of a file goes with the messages that have it\n`,
  });
  expect((await run(["verify", url])).code).toBe(0);
});

test("verify names the messages' files without a content", async () => {
  expect(await run(["verify", url])).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringMatching(/^entries in lists: 2 right\nthreads: 3 readable/),
  });
  const damage = async (how: (stores: StoreFactory) => Promise<unknown>) => {
    await using stores = folder.stores();
    await how(stores);
    const { code, stdout } = await run(["verify", url, "--json"]);
    const lines = jsonLines(stdout).filter(({ threadId, problems }) => threadId && problems);
    return {
      code,
      threads: lines.map(({ threadId }) => String(threadId).slice(0, CHAT.length + 5)).sort(),
      lines,
    };
  };
  const problems = [expect.stringMatching(/^its file [\w-]{43} is missing or damaged$/)];
  const all = [CHAT, "chats:chat:ada:d", `part:${CHAT}`];
  // The use of "d".
  const one = await damage(async (stores) => {
    const index = stores.index("files:chats:chat:ada:d");
    for (const { key, id } of (await index.list()).entries) await index.remove({ key, id });
  });
  expect(one).toMatchObject({ code: 4, threads: [all[1]], lines: [{ outcome: "corrupt", problems }] });
  // The content of all.
  const whole = await damage(async (stores) => {
    for await (const { threadId } of stores.iterateThreads({ prefix: "scrollback:" }))
      await stores.deleteThread(threadId);
  });
  expect(whole).toMatchObject({ code: 4, threads: all });
  for (const line of whole.lines) expect(line).toMatchObject({ outcome: "corrupt", problems });
});

test("a file whose message was dropped while verify ran is not missing", async () => {
  await using stores = folder.stores();
  const check = new FileCheck(stores, { signal: new AbortController().signal });
  const { metadata } = await stores.open(CHAT).read();
  const [named = ""] = partThreads(CHAT, metadata);
  const [message] = await stores.open(named).listMessages();
  const files = filesOf(message);
  expect(files.size).toBe(1);
  const index = stores.index(`files:${CHAT}`);
  for (const { key, id } of (await index.list()).entries) await index.remove({ key, id });
  // A part that a process was about to remove.
  const left = `part:${CHAT}:${"x".repeat(12)}`;
  await stores.open(left).addMessages(message ? [message] : []);
  expect(await check.missing(named, files)).toEqual([...files.values()]);
  expect(await check.missing(left, files)).toEqual([]);
  expect(await check.missing(CHAT, files)).toEqual([]);
});

test("the text of a running answer is no thread of its own, and goes with its chat", async () => {
  const thread = streamOf(CHAT);
  const messages = async () => {
    await using stores = folder.stores();
    return (await stores.open(thread).read()).count;
  };
  {
    await using stores = folder.stores();
    await stores.open(thread, { ttlMs: 60_000 }).addMessages([{ role: "assistant", content: "text" }]);
  }
  expect((await run(["ls", url])).stdout).not.toContain("scrollback:stream");
  expect((await run(["copy", url, folder.url("copy"), "--verify"])).stdout).not.toContain(
    "scrollback:stream",
  );
  expect((await run(["verify", url])).code).toBe(0);
  expect(await messages()).toBe(1);
  expect((await run(["rm", url, CHAT, "--yes"])).code).toBe(0);
  expect(await messages()).toBe(0);
});
