import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { ChatStore } from "@scrollback/chats";
import type { StoreFactory } from "@scrollback/store-core";
import { gzipCodec } from "@scrollback/store-core/codecs";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const message = (id: string, content: string) => ({ id, role: "user" as const, content });
const thread = (id: string) => `chats:chat:ada:${id}`;

let time = Date.now() - 1_000_000;
/** Each write has another time, so that the order of a list is certain. */
async function chatsIn<T>(
  folder: Folder,
  name: string,
  use: (mine: ReturnType<ChatStore["of"]>, stores: StoreFactory) => Promise<T>,
): Promise<T> {
  await using stores = folder.stores(name);
  await using chats = new ChatStore({ stores, now: () => time++ });
  return await use(chats.of("ada"), stores);
}

/** Chats "a" to "e", of which "a" was written last, "b" is pinned and "d" archived. */
async function fill(folder: Folder): Promise<void> {
  await chatsIn(folder, "chats", async (mine, stores) => {
    for (const id of "abcde")
      await mine.create({ id, title: `TITLE of ${id};`, messages: [message("m", "hi")] });
    await mine.update("b", { pinned: true });
    await mine.update("d", { archived: true });
    await mine.touch("a");
    await stores.open("plain").addMessages([message("m", "hi")]);
  });
}

async function listsIn(folder: Folder, name = "chats") {
  return await chatsIn(folder, name, async (mine) => {
    const ids = async (filter: object) => (await mine.list(filter)).chats.map(({ id }) => id);
    return {
      ...{ all: await ids({}), pinned: await ids({ pinned: true }), archived: await ids({ archived: true }) },
    };
  });
}

const whole = { all: ["a", "e", "c", "b"], pinned: ["b"], archived: ["d"] };

function sql(folder: Folder, statement: string): void {
  const database = new DatabaseSync(folder.file("chats.db"));
  database.exec(statement);
  database.close();
}

/** Whether a file of the database contains a text. */
function isAtRest(folder: Folder, text: string): boolean {
  const files = readdirSync(folder.path).filter((name) => name.startsWith("chats.db"));
  return files.some((name) => readFileSync(folder.file(name)).includes(text));
}

async function updatedIn(folder: Folder, name: string) {
  await using stores = folder.stores(name);
  const { updatedAt, expiresAt } = await stores.open(thread("b")).read({ limit: 0 });
  return { updatedAt, expires: expiresAt !== undefined };
}

/** Ways of moving a database. */
const ways: Record<string, (folder: Folder) => Promise<readonly string[]>> = {
  copy: async (folder) => ["copy", folder.url(), folder.url("b")],
  import: async (folder) => {
    const file = folder.file("all.jsonl");
    await run(["export", folder.url(), "--output", file]);
    return ["import", folder.url("b"), file];
  },
};

for (const [way, command] of Object.entries(ways)) {
  test(`chats that were moved by ${way} are in the same lists, and the command can be repeated`, async () => {
    using folder = new Folder();
    await fill(folder);
    await chatsIn(folder, "chats", async (_, stores) => {
      await stores.open(thread("b")).expire(30 * 86_400_000);
    });
    const args = [...(await command(folder)), "--verify"];
    const first = await run(args);
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("6 equal"),
      stderr: "5 threads listed again in the target\n",
    });
    expect(await updatedIn(folder, "b")).toEqual({ ...(await updatedIn(folder, "chats")), expires: true });
    expect(await listsIn(folder, "b")).toEqual(whole);
    expect(await run(args)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/6 there already.*\n.*6 equal/),
      stderr: "",
    });
    expect((await run(["verify", folder.url("b")])).code).toBe(0);
    await chatsIn(folder, "b", async (mine) => {
      await mine.touch("c");
      await mine.delete("e");
      await mine.create({ id: "new", messages: [message("m", "hi")] });
    });
    expect((await listsIn(folder, "b")).all).toEqual(["new", "c", "a", "b"]);
  });
}

test("a copy that was stopped before it listed its threads is listed by the next one", async () => {
  using folder = new Folder();
  await fill(folder);
  await using source = folder.stores();
  await using target = folder.stores("b");
  await target.setup();
  for (const id of "abcde") await source.copyThread(thread(id), thread(id), { target });
  expect((await listsIn(folder, "b")).all).toEqual([]);
  const { stdout } = await run(["copy", folder.url(), folder.url("b")]);
  expect(stdout).toMatch(/5 there already, 1 copied|1 copied, 5 there already/);
  expect(await listsIn(folder, "b")).toEqual(whole);
});

const heads = `scrollback_metadata WHERE thread = (SELECT key FROM scrollback_threads WHERE id = '${thread("b")}')`;
/** How a chat may be damaged before it is deleted. */
const damages: Record<string, string> = {
  "": "",
  "with an unreadable head": `UPDATE ${heads.replace("WHERE", "SET text = '{' WHERE")}`,
  "without a head": `DELETE FROM ${heads}`,
  "without commits": "DELETE FROM scrollback_commits",
  "of which a program has deleted the thread": `DELETE FROM ${heads}; DELETE FROM scrollback_threads WHERE id = '${thread("b")}'`,
};

for (const [what, statement] of Object.entries(damages)) {
  test(`rm deletes a chat ${what} with its title in lists`, async () => {
    using folder = new Folder();
    await fill(folder);
    sql(folder, `${statement}; PRAGMA secure_delete = on; VACUUM`);
    expect(isAtRest(folder, "TITLE of b;")).toBe(true);
    const { code } = await run(["rm", folder.url(), thread("b"), "--yes"]);
    expect(code).toBe(what.includes("program") ? 3 : 0);
    expect(isAtRest(folder, "TITLE of b;")).toBe(false);
    if (!what.includes("without commits")) {
      const rest = { all: ["a", "e", "c"], pinned: [], archived: ["d"] };
      expect(await listsIn(folder)).toEqual(rest);
    }
  });
}

test("rm without the key of a chat says that its entries in lists were left", async () => {
  using folder = new Folder();
  await using stores = folder.stores("chats", { codec: gzipCodec() });
  await using chats = new ChatStore({ stores });
  await chats.of("ada").create({ id: "a", title: "tram ".repeat(50), messages: [] });
  expect(await run(["rm", folder.url(), "--all", "--yes"])).toMatchObject({
    code: 4,
    stdout: expect.stringContaining("1 deleted"),
    stderr: expect.stringMatching(/^1 unreadable entries in lists were left/m),
  });
});

test("rm --all leaves no entry", async () => {
  using folder = new Folder();
  await fill(folder);
  await run(["rm", folder.url(), "--all", "--yes"]);
  await using stores = folder.stores();
  expect((await stores.listIndexes()).names).toEqual([]);
  expect(isAtRest(folder, "TITLE")).toBe(false);
});

/** Faults of lists: what makes them, and what `verify` says. */
const faults: Record<string, readonly [(folder: Folder) => Promise<void>, RegExp]> = {
  "a removed entry": [
    async (folder) => sql(folder, "DELETE FROM scrollback_entries WHERE key = 'b'"),
    /^not listed: chats:chat:ada:b: its entry in "[^"]+:pinned" is not there; rebuild makes it again$/m,
  ],
  "an entry of a thread that was deleted beside it": [
    async (folder) => {
      await using stores = folder.stores();
      await stores.deleteThread(thread("b"));
    },
    /^lost: the entry of chats:chat:ada:b in \S+:pinned: no thread names it; rebuild removes it$/m,
  ],
  "an unreadable entry": [
    async (folder) =>
      sql(folder, "UPDATE scrollback_entries SET value = substr(value, 1, 2) || '{' WHERE key = 'b'"),
    /^unreadable: the entry of b in \S+:pinned: /m,
  ],
  "a deletion that did not end": [
    async (folder) => {
      await using stores = folder.stores();
      const { metadata } = await stores.open(thread("b")).read();
      const { listed } = metadata as { listed: { in: Record<string, string> } };
      for (const [index, id] of Object.entries(listed.in))
        await stores
          .index(index)
          .update({ key: "b", id }, { version: Number.MAX_SAFE_INTEGER, order: 0, value: {} });
    },
    /^not listed: chats:chat:ada:b: /m,
  ],
};

for (const [what, [damage, found]] of Object.entries(faults)) {
  test(`verify finds ${what}, and rebuild mends it`, async () => {
    using folder = new Folder();
    await fill(folder);
    expect((await run(["verify", folder.url()])).code).toBe(0);
    await damage(folder);
    const { code, stderr } = await run(["verify", folder.url()]);
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringMatching(found) });
    const lines = jsonLines((await run(["verify", folder.url(), "--json"])).stdout);
    expect(lines).toContainEqual(expect.objectContaining({ problems: expect.any(Array) }));
    expect(lines.at(-1)).toHaveProperty("summary");
    const others = ["verify", folder.url(), "--prefix", thread("c")];
    expect((await run(others)).code).toBe(0);

    expect(await run(["rebuild", folder.url()])).toMatchObject({ code: 0 });
    expect(await run(["verify", folder.url()])).toMatchObject({ code: 0, stderr: "" });
    const isDeleted = what.includes("beside");
    expect(await listsIn(folder)).toEqual(isDeleted ? { ...whole, all: ["a", "e", "c"], pinned: [] } : whole);
    const { stdout } = await run(["rebuild", folder.url()]);
    expect(stdout).toMatch(/^threads: \d listed \(.*\nentries in lists: \d right\n$/);
  });
}

test("rebuild names threads that it cannot read, and lists the others", async () => {
  using folder = new Folder();
  await fill(folder);
  sql(folder, `UPDATE ${heads.replace("WHERE", "SET text = '{' WHERE")}; DELETE FROM scrollback_entries`);
  const { code, stdout, stderr } = await run(["rebuild", folder.url(), "--json"]);
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining(thread("b")) });
  expect(jsonLines(stdout)).toContainEqual({ threadId: thread("a"), outcome: "listed again" });
  expect(jsonLines(stdout).at(-1)).toEqual({ entries: { right: 4 } });
  expect(await listsIn(folder)).toEqual({ ...whole, all: ["a", "e", "c"], pinned: [] });
});

test("a list of unreadable entries is not taken for a lost one", async () => {
  using folder = new Folder();
  await using stores = folder.stores("chats", { codec: gzipCodec() });
  await using chats = new ChatStore({ stores });
  await chats.of("ada").create({ id: "a", title: "tram ".repeat(50), messages: [] });
  await run(["rebuild", folder.url()]);
  expect((await chats.of("ada").list()).chats).toMatchObject([{ id: "a", title: "tram ".repeat(50) }]);
});
