import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { ChatStore, type OwnedChats } from "@scrollback/chats";
import { createFolderBlobs } from "@scrollback/chats/folder";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const photo = `data:image/png;base64,${randomBytes(75_000).toString("base64")}`;
const message = (id: string) => ({ id, role: "user" as const, content: `text of ${id}` });
const thread = (id: string) => `chats:chat:ada:${id}`;
let folder: Folder;
let url: string;

/** Chats whose files are in a folder. */
async function withChats<T>(work: (mine: OwnedChats) => Promise<T>): Promise<T> {
  await using stores = folder.stores();
  await using chats = new ChatStore({ stores, blobs: createFolderBlobs(folder.file("files")) });
  return await work(chats.of("ada"));
}

/** Of the database: what a command that changes nothing leaves as it is. */
async function digestOfStores(): Promise<string> {
  const hash = createHash("sha256");
  await using stores = folder.stores();
  for await (const { threadId } of stores.iterateThreads()) {
    const { entries, metadata, revision } = await stores.open(threadId).read();
    hash.update(JSON.stringify([threadId, entries, metadata, revision]));
  }
  for (const { names, cursor } of [await stores.listIndexes({ limit: 1_000 })]) {
    expect(cursor).toBeUndefined();
    for (const name of names) hash.update(JSON.stringify(await stores.index(name).list()));
  }
  return hash.digest("hex");
}

const filesIn = () => readdirSync(folder.file("files"), { recursive: true }).length;

beforeEach(async () => {
  folder = new Folder();
  onTestFinished(() => folder[Symbol.dispose]());
  url = folder.url();
  await withChats(async (mine) => {
    await mine.create({ id: "c", messages: [{ ...message("q"), photo } as never] });
    await mine.create({ id: "d", messages: [message("s")] });
  });
});

const problem = `unsupported: ${thread("c")}: a file of the thread is in another storage than the stores: use a program whose chats have it as their option blobs`;

test.each([[[thread("c"), thread("d")]], [["--prefix", "chats:"]], [["--all"]]])(
  "rm of %j leaves a chat whose files are elsewhere, whole, and deletes the others",
  async (selection) => {
    const files = filesIn();
    const { code, stdout, stderr } = await run(["rm", url, ...selection, "--yes"]);
    expect({ code, stdout, stderr }).toEqual({
      code: 5,
      stdout: expect.stringMatching(/^threads: (1 unsupported, 1 deleted|1 deleted, 1 unsupported)/),
      stderr: `${problem}\n`,
    });
    const before = await digestOfStores();
    expect((await run(["rm", url, thread("c"), "--yes"])).code).toBe(5);
    expect(await digestOfStores()).toBe(before);
    expect(filesIn()).toBe(files);
    await withChats(async (mine) => {
      expect((await mine.read("c"))?.entries[0]?.message).toMatchObject({ photo });
      expect(await mine.get("d")).toBeUndefined();
      await mine.delete("c");
    });
    expect(filesIn()).toBeLessThan(files);
  },
);

test("copy and export leave such a chat out, and do the others", async () => {
  const copied = await run(["copy", url, folder.url("copy")]);
  expect(copied).toMatchObject({ code: 5, stderr: expect.stringContaining(problem) });
  expect(copied.stdout).toContain("1 copied");
  const { code, stdout, stderr } = await run(["export", url]);
  expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining(problem) });
  expect(jsonLines(stdout).filter(({ type }) => type === "skip")).toHaveLength(1);
  const imported = await run(["import", folder.url("imported"), "-"], { input: stdout });
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining("1 imported") });
});

test("verify tells that such files were not checked, and finds no fault", async () => {
  const note = "1 file in another storage than the stores: not checked\n";
  expect(await run(["verify", url])).toMatchObject({ code: 0, stderr: note });
  const { code, stdout } = await run(["verify", url, "--json"]);
  expect(code).toBe(0);
  expect(jsonLines(stdout)).toContainEqual({ threadId: thread("c"), outcome: "readable", messages: 1 });
});

test("stats counts files elsewhere, with their sizes", async () => {
  const [figures] = jsonLines((await run(["stats", url, "--json"])).stdout);
  expect(figures).toMatchObject({ threads: 2, files: 1, fileBytes: 75_000, filesElsewhere: 1 });
  expect((await run(["stats", url])).stdout).toMatch(/^files elsewhere {10}1$/m);
});

test("import and copy store files in the backend, where chats with files elsewhere read and erase them", async () => {
  const other = `${photo.slice(0, -8)}AAAAAAA=`;
  {
    await using stores = folder.stores("other");
    await using chats = new ChatStore({ stores });
    await chats.of("ada").create({
      id: "e",
      messages: [{ ...message("same"), photo } as never, { ...message("other"), photo: other } as never],
    });
  }
  const files = filesIn();
  expect((await run(["copy", folder.url("other"), url])).code).toBe(0);
  const { stdout } = await run(["export", folder.url("other")]);
  expect(await run(["import", url, "-"], { input: stdout })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("1 there already"),
  });
  expect(filesIn()).toBe(files);
  await withChats(async (mine) => {
    const read = async (id: string) => (await mine.read(id))?.entries.map((entry) => entry.message);
    expect(await read("e")).toMatchObject([{ photo }, { photo: other }]);
    await mine.delete("c");
    expect(await read("e")).toMatchObject([{ photo }, { photo: other }]);
    await mine.delete("e");
  });
  expect(filesIn()).toBeLessThan(files);
  expect(jsonLines((await run(["stats", url, "--json"])).stdout)[0]).not.toHaveProperty("files");
});

test("a program that knows the storage removes, checks, copies and exports the files in it", async () => {
  const blobs = createFolderBlobs(folder.file("files"));
  const known = { blobs };
  expect(await run(["verify", url], known)).toMatchObject({ code: 0, stderr: "" });
  const { stdout } = await run(["export", url], known);
  expect((await run(["import", folder.url("imported"), "-"], { input: stdout })).code).toBe(0);
  expect((await run(["copy", url, folder.url("copied"), "--verify"], known)).code).toBe(0);
  for (const name of ["imported", "copied"]) {
    await using stores = folder.stores(name);
    await using chats = new ChatStore({ stores });
    expect((await chats.of("ada").read("c"))?.entries[0]?.message).toMatchObject({ photo });
  }
  const files = filesIn();
  expect(await run(["rm", url, thread("c"), "--yes"], known)).toMatchObject({ code: 0, stderr: "" });
  expect(filesIn()).toBeLessThan(files);
  expect((await run(["verify", url])).stderr).toBe("");
  await withChats((mine) => mine.create({ id: "f", messages: [{ ...message("q"), photo } as never] }));
  const lost: typeof blobs = { ...blobs, get: async () => undefined };
  expect((await run(["verify", url], { blobs: lost })).code).toBe(4);
});
