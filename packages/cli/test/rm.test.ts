import { readFileSync } from "node:fs";
import { ChatStore } from "@scrollback/chats";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

let folder: Folder;
let url: string;

beforeEach(async () => {
  folder = new Folder();
  onTestFinished(() => folder[Symbol.dispose]());
  url = folder.url();
  await using stores = folder.stores();
  for (const id of ["old-1", "old-2", "new-1"])
    await stores.open(id).commit({ append: [{ role: "user", content: id }], metadata: { id } });
});

const idsIn = async () =>
  jsonLines((await run(["ls", url, "--json"])).stdout)
    .map(({ threadId }) => threadId)
    .sort();

test.each([
  [["old-1"], ["new-1", "old-2"]],
  [["--prefix", "old-"], ["new-1"]],
  [
    ["--prefix", "old-", "old-1", "new-1"],
    ["new-1", "old-2"],
  ],
  [["--ids-from", "-"], ["old-2"]],
  [["--all"], []],
])("rm deletes the selected threads: %j", async (args, left) => {
  const { code, stdout } = await run(["rm", url, "--yes", ...args], { input: `"old-1"\n"new-1"\n` });
  expect({ code, left: await idsIn() }).toEqual({ code: 0, left });
  expect(stdout).toMatch(/^threads: \d deleted/);
});

test("rm --dry-run only lists", async () => {
  const { code, stdout, stderr } = await run(["rm", url, "--prefix", "old-", "--dry-run"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "2 threads; nothing was changed\n" });
  expect(stdout.split("\n").sort()).toEqual(["", "old-1", "old-2"]);
  expect(await idsIn()).toHaveLength(3);
});

test("rm requires a selection, and an empty one, as from an unset variable, is refused", async () => {
  const message = "scrollback: rm: say which threads, by ids, --ids-from or --prefix; or give --all\n";
  expect(await run(["rm", url, "--yes"])).toEqual({ code: 2, stdout: "", stderr: message });
  for (const name of ["--prefix", "--ids-from"]) {
    const { code, stdout, stderr } = await run(["rm", url, name, "", "--yes"]);
    expect({ code, stdout }, name).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`'${name} <`);
  }
  expect((await run(["rm", url, "", "--yes"])).code).toBe(2);
  expect(await idsIn()).toHaveLength(3);
});

test("rm asks on a terminal, and accepts only yes", async () => {
  const args = ["rm", url, "old-1"];
  // The last one is Ctrl-D.
  for (const input of ["\n", "n\n", "\u0004"]) {
    const { code, stderr } = await run(args, { isTerminal: true, input });
    expect(code).toBe(1);
    expect(stderr).toContain(`Delete 1 thread of ${url} permanently? [y/N] `);
    expect(stderr).toMatch(/scrollback: nothing was done\n$/);
  }
  for (const isTerminal of [false, true]) {
    const { code, stderr } = await run(args, { input: "y\n", isTerminal, isPiped: true });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("Without a terminal, add --yes."),
    });
  }
  expect(await idsIn()).toHaveLength(3);
  expect((await run(args, { isTerminal: true, input: "y\n" })).code).toBe(0);
  expect(await idsIn()).toHaveLength(2);
});

test("rm names missing threads, and deletes the others and what expiry has left of the missing ones", async () => {
  await using stores = folder.stores();
  for (const id of ["gone", "gone-too"])
    await stores.open(id, { ttlMs: 1 }).addMessages([{ role: "user", content: `SECRET of ${id};` }]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const left = () =>
    ["", "-wal"].some((suffix) => readFileSync(folder.file(`chats.db${suffix}`)).includes("SECRET of gone;"));
  await run(["rm", url, "gone", "--dry-run"]);
  const asked = await run(["rm", url, "gone", "old-1"], { isTerminal: true, input: "n\n" });
  expect(asked.stderr).toContain("Delete 1 thread and any remains of 1 unknown thread of");
  expect(left()).toBe(true);
  expect(await run(["rm", url, "gone", "gone", "old-1", "--yes"])).toEqual({
    code: 3,
    stdout: expect.stringMatching(/1 deleted, 1 not found|1 not found, 1 deleted/),
    stderr: "not found: gone: if it has expired, its remains are now deleted\n",
  });
  expect(left()).toBe(false);
  expect(await idsIn()).toEqual(["new-1", "old-2"]);
});

test("rm deletes threads with unreadable content", async () => {
  const env = { SCROLLBACK_CODEC: "aes-gcm", SCROLLBACK_KEYS: `k:${Buffer.alloc(32).toString("base64")}` };
  expect((await run(["rm", url, "--all", "--yes"], { env })).stdout).toContain("3 deleted");
  expect(await idsIn()).toEqual([]);
});

test("rm --json reports each thread", async () => {
  const lines = jsonLines((await run(["rm", url, "old-1", "--yes", "--json"])).stdout);
  expect(lines).toEqual([
    { threadId: "old-1", outcome: "deleted" },
    { summary: { selected: 1, done: 1, messages: 0, outcomes: { deleted: 1 }, seconds: expect.any(Number) } },
  ]);
});

test("a thread that another rm has deleted meanwhile is no failure", async () => {
  {
    await using stores = folder.stores();
    const mine = new ChatStore({ stores }).of("ada");
    for (let index = 0; index < 10; index++) await mine.create({ id: `c${index}` });
  }
  const results = await Promise.all([1, 2].map(() => run(["rm", url, "--all", "--yes"])));
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  expect(await idsIn()).toEqual([]);
});

test.each([
  ["rm", []],
  ["expire", ["--never"]],
])("%s leaves a thread alone that was written to after ls --json named it", async (command, args) => {
  const { stdout } = await run(["ls", url, "--json"]);
  await using stores = folder.stores();
  await stores.open("old-1").addMessages([{ role: "user", content: "meanwhile" }]);
  const result = await run([command, url, "--ids-from", "-", "--yes", ...args], { input: stdout });
  expect(result).toMatchObject({
    code: 5,
    stdout: expect.stringContaining("1 left alone"),
    stderr: "left alone: old-1: it was written to meanwhile\n",
  });
  const left = await stores.open("old-1").read();
  expect(left.count).toBe(2);
  expect("expiresAt" in left).toBe(false);
});

test("expire sets and removes the expiry", async () => {
  const named = ["--yes", "old-1", "none"];
  expect(await run(["expire", url, "--ttl", "30d", ...named])).toEqual({
    code: 3,
    stdout: expect.stringMatching(/1 changed, 1 not found|1 not found, 1 changed/),
    stderr: "not found: none: there is no such thread\n",
  });
  await using stores = folder.stores();
  const expiresIn = async () => ((await stores.open("old-1").read()).expiresAt ?? 0) - Date.now();
  expect(Math.round((await expiresIn()) / 86_400_000)).toBe(30);
  await run(["expire", url, "--never", "--yes", "old-1"]);
  expect(await expiresIn()).toBeLessThan(0);
  for (const wrong of [[], ["--ttl", "0d"], ["--ttl", "40000d"], ["--ttl", "5"], ["--ttl", "1d", "--never"]])
    expect((await run(["expire", url, "--yes", "old-1", ...wrong])).code, wrong.join()).toBe(2);
});

test("stats counts threads, messages, bytes, lists and ages", async () => {
  {
    await using stores = folder.stores();
    await new ChatStore({ stores }).of("ada").create({ id: "c" });
    await stores.open("new-1").addMessages([{ role: "user", content: "more" }]);
  }
  const [figures] = jsonLines((await run(["stats", url, "--json"])).stdout);
  expect(figures).toMatchObject({
    ...{ threads: 4, messages: 4, bytes: expect.any(Number), expiring: 0, entries: expect.any(Number) },
    updatedWithin: { day: 4, week: 0, month: 0, year: 0, older: 0 },
  });
  expect(figures?.largest).toMatchObject([{ threadId: "new-1", count: 2 }, {}, {}, {}]);
  const { stdout } = await run(["stats", url, "--prefix", "old-"]);
  expect(stdout).toMatch(/^threads {18}2$/m);
  expect(stdout).toMatch(/^largest {18}1 message: old-1$/m);
});
