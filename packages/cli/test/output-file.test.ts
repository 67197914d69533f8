import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

async function exportTo(folder: Folder, name: string, signal = new AbortController().signal) {
  await using stores = folder.stores();
  await stores.open("a").addMessages([{ role: "user", content: "x" }]);
  return await run(["export", folder.url(), "--output", folder.file(name)], { signal });
}

test("the file is complete or missing, and only its owner can read it", async () => {
  using folder = new Folder();
  const outputs = () => readdirSync(folder.path).filter((name) => name.startsWith("out"));
  expect((await exportTo(folder, "out", AbortSignal.abort(new Error("stopped")))).code).not.toBe(0);
  expect(outputs()).toEqual([]);
  writeFileSync(folder.file("out"), "old");
  symlinkSync("out", folder.file("link"));
  expect((await exportTo(folder, "link")).code).toBe(0);
  expect(lstatSync(folder.file("link")).isSymbolicLink()).toBe(true);
  const types = jsonLines(readFileSync(folder.file("out"), "utf8")).map(({ type }) => type);
  expect(types).toEqual(["thread", "message", "message", "end"]);
  expect(outputs()).toEqual(["out"]);
  expect(statSync(folder.file("out")).mode & 0o777).toBe(0o600);
});

test.each<readonly [name: string, problem: string]>([
  [".", "EISDIR"],
  ["no/out", "ENOENT"],
  ...(process.platform === "linux" ? [["../../dev/full", "ENOSPC"] as const] : []),
])("an output that cannot be written is named: %s", async (name, problem) => {
  using folder = new Folder();
  expect(await exportTo(folder, name)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`the output file cannot be written (${problem})`),
  });
});

test("a file of the database is neither an output file nor the target of a copy", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  await stores.open("a").addMessages([{ role: "user", content: "x" }]);
  mkdirSync(folder.file("folder"));
  symlinkSync(folder.path, folder.file("folder/link"));
  symlinkSync("chats.db", folder.file("link.db"));
  linkSync(folder.file("chats.db"), folder.file("hard.db"));
  for (const name of ["chats.db", "chats.db-wal", "link.db", "hard.db", "folder/link/chats.db"]) {
    const before = statSync(folder.file(name)).mtimeMs;
    for (const args of [
      ["export", folder.url(), "--output", folder.file(name)],
      ["copy", folder.url(), `sqlite:${folder.file(name)}`],
    ])
      expect(await run(args), name).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/--output is a file of the database|source and target are the same/),
      });
    expect(statSync(folder.file(name)).mtimeMs).toBe(before);
  }
});
