import { readFileSync } from "node:fs";
import { ChatStore } from "@scrollback/chats";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const DAY = 86_400_000;

async function fill(folder: Folder): Promise<void> {
  await using stores = folder.stores();
  for (const id of ["old-1", "old-2", "new-1"]) {
    const createdAt = Date.now() - (id.startsWith("old") ? 40 : 0) * DAY;
    await stores
      .open(id)
      .commit({ append: [{ role: "user", content: id }], metadata: { id } }, { createdAt });
  }
}

async function idsIn(folder: Folder): Promise<unknown[]> {
  const { stdout } = await run(["ls", folder.url(), "--json"]);
  return jsonLines(stdout)
    .map(({ threadId }) => threadId)
    .sort();
}

test.each([
  [["old-1"], ["new-1", "old-2"]],
  [["--prefix", "old-"], ["new-1"]],
  [["--all"], []],
])("rm deletes the selected threads: %j", async (args, left) => {
  using folder = new Folder();
  await fill(folder);
  const { code, stdout } = await run(["rm", folder.url(), "--yes", ...args]);
  expect({ code, left: await idsIn(folder) }).toEqual({ code: 0, left });
  expect(stdout).toMatch(/^threads: \d deleted/);
});

test("rm --dry-run only lists", async () => {
  using folder = new Folder();
  await fill(folder);
  const { code, stdout, stderr } = await run(["rm", folder.url(), "--prefix", "old-", "--dry-run"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "2 threads; nothing was changed\n" });
  expect(stdout.split("\n").sort()).toEqual(["", "old-1", "old-2"]);
  expect(await idsIn(folder)).toHaveLength(3);
});

test("rm requires a selection, and an empty one, as from an unset variable, is refused", async () => {
  using folder = new Folder();
  await fill(folder);
  const message = "scrollback: rm: say which threads, by ids, --ids-from or --prefix; or give --all\n";
  expect(await run(["rm", folder.url(), "--yes"])).toEqual({ code: 2, stdout: "", stderr: message });
  for (const name of ["--prefix", "--ids-from"]) {
    const { code, stdout, stderr } = await run(["rm", folder.url(), name, "", "--yes"]);
    expect({ code, stdout }, name).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`'${name} <`);
  }
  expect((await run(["rm", folder.url(), "", "--yes"])).code).toBe(2);
  expect(await idsIn(folder)).toHaveLength(3);
});

test("rm asks on a terminal, and accepts only yes", async () => {
  using folder = new Folder();
  await fill(folder);
  const args = ["rm", folder.url(), "old-1"];
  const no = await run(args, { isTerminal: true, input: "\n" });
  expect(no.code).toBe(1);
  expect(no.stderr).toContain(`Delete 1 thread of ${folder.url()} permanently? [y/N] `);
  expect(no.stderr).toContain("scrollback: nothing was done\n");
  expect(await idsIn(folder)).toHaveLength(3);
  expect((await run(args, { isTerminal: true, input: "y\n" })).code).toBe(0);
  expect(await idsIn(folder)).toHaveLength(2);
});

test("the end of input, as by Ctrl-D, means no", async () => {
  using folder = new Folder();
  await fill(folder);
  const { code, stderr } = await run(["rm", folder.url(), "old-1"], { isTerminal: true, input: "\u0004" });
  expect(code).toBe(1);
  expect(stderr).toMatch(/scrollback: nothing was done\n$/);
  expect(await idsIn(folder)).toHaveLength(3);
});

test("rm does not delete without a terminal or --yes", async () => {
  using folder = new Folder();
  await fill(folder);
  for (const isTerminal of [false, true]) {
    const { code, stderr } = await run(["rm", folder.url(), "old-1"], {
      input: "y\n",
      isTerminal,
      isPiped: true,
    });
    expect(code).toBe(2);
    expect(stderr).toContain("Without a terminal, add --yes.");
  }
  expect(await idsIn(folder)).toHaveLength(3);
});

const remainsDeleted = "if it has expired, its remains are now deleted\n";

test("rm asks for unknown threads too, because it deletes what expiry may have left of them", async () => {
  using folder = new Folder();
  await fill(folder);
  const ask = async (...ids: string[]) =>
    (await run(["rm", folder.url(), ...ids], { isTerminal: true, input: "n\n" })).stderr;
  expect(await ask("none")).toContain(
    `Delete any remains of 1 unknown thread of ${folder.url()} permanently?`,
  );
  expect(await ask("none", "old-1")).toContain("Delete 1 thread and any remains of 1 unknown thread of");
});

test("rm names missing threads, and deletes the others", async () => {
  using folder = new Folder();
  await fill(folder);
  const { code, stderr } = await run(["rm", folder.url(), "--yes", "none", "old-1"]);
  expect({ code, stderr }).toEqual({ code: 3, stderr: `not found: none: ${remainsDeleted}` });
  expect(await idsIn(folder)).toEqual(["new-1", "old-2"]);
});

test("rm by id erases the remains of an expired thread once confirmed", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  for (const id of ["gone", "gone-too"])
    await stores.open(id, { ttlMs: 1 }).addMessages([{ role: "user", content: `SECRET of ${id};` }]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const left = () =>
    ["", "-wal"].some((suffix) => readFileSync(folder.file(`chats.db${suffix}`)).includes("SECRET of gone;"));
  await run(["rm", folder.url(), "gone", "--dry-run"]);
  await run(["rm", folder.url(), "gone"], { isTerminal: true, input: "n\n" });
  await run(["rm", folder.url(), "--all", "--yes"]);
  expect(left()).toBe(true);
  expect(await run(["rm", folder.url(), "gone", "gone", "--yes"])).toMatchObject({
    code: 3,
    stdout: expect.stringContaining("1 not found"),
    stderr: `not found: gone: ${remainsDeleted}`,
  });
  expect(left()).toBe(false);
});

test("rm deletes threads with unreadable content", async () => {
  using folder = new Folder();
  await fill(folder);
  const env = { SCROLLBACK_CODEC: "aes-gcm", SCROLLBACK_KEYS: `k:${Buffer.alloc(32).toString("base64")}` };
  const { stdout } = await run(["rm", folder.url(), "--all", "--yes"], { env });
  expect(stdout).toContain("3 deleted");
  expect(await idsIn(folder)).toEqual([]);
});

test("rm --json reports each thread", async () => {
  using folder = new Folder();
  await fill(folder);
  const lines = jsonLines((await run(["rm", folder.url(), "old-1", "--yes", "--json"])).stdout);
  expect(lines).toEqual([
    { threadId: "old-1", outcome: "deleted" },
    { summary: { selected: 1, done: 1, messages: 0, outcomes: { deleted: 1 }, seconds: expect.any(Number) } },
  ]);
});

test("a thread that another rm has deleted meanwhile is no failure", async () => {
  using folder = new Folder();
  {
    await using stores = folder.stores();
    for (let index = 0; index < 10; index++)
      await stores.open(`t${index}`).addMessages([{ role: "user", content: "x" }]);
    const mine = new ChatStore({ stores }).of("ada");
    for (let index = 0; index < 10; index++) await mine.create({ id: `c${index}` });
  }
  const rm = ["rm", folder.url(), "--all", "--yes"];
  const results = await Promise.all([run(rm), run(rm)]);
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  expect(await idsIn(folder)).toEqual([]);
});
