import { execFileSync } from "node:child_process";
import {
  createReadStream,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

async function exportTo(folder: Folder, name: string) {
  await using stores = folder.stores();
  await stores.open("a").addMessages([{ role: "user", content: "x" }]);
  return await run(["export", folder.url(), "--output", folder.file(name)]);
}

const typesOf = (lines: string) => jsonLines(lines).map(({ type }) => type);
const leftOver = (folder: Folder) => readdirSync(folder.path).filter((name) => name.includes("partial"));

test.runIf(process.platform !== "win32")("export writes to a FIFO, which stays one", async () => {
  using folder = new Folder();
  execFileSync("mkfifo", [folder.file("fifo")]);
  const reader = text(createReadStream(folder.file("fifo")));
  expect((await exportTo(folder, "fifo")).code).toBe(0);
  expect(typesOf(await reader)).toEqual(["thread", "message", "end"]);
  expect(lstatSync(folder.file("fifo")).isFIFO()).toBe(true);
  expect(leftOver(folder)).toEqual([]);
});

test.each([true, false])(
  "export writes to the file of a link, which stays one; the file exists: %s",
  async (exists) => {
    using folder = new Folder();
    if (exists) writeFileSync(folder.file("real"), "old");
    symlinkSync("real", folder.file("link"));
    symlinkSync(folder.file("link"), folder.file("second"));
    expect((await exportTo(folder, "second")).code).toBe(0);
    expect(lstatSync(folder.file("second")).isSymbolicLink()).toBe(true);
    expect(lstatSync(folder.file("link")).isSymbolicLink()).toBe(true);
    expect(typesOf(readFileSync(folder.file("real"), "utf8"))).toEqual(["thread", "message", "end"]);
    expect(leftOver(folder)).toEqual([]);
  },
);

test.runIf(process.platform === "linux")(
  "export writes to a device, and reports that it is full",
  async () => {
    using folder = new Folder();
    symlinkSync("/dev/full", folder.file("full"));
    expect(await exportTo(folder, "full")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("the output file cannot be written (ENOSPC)"),
    });
  },
);

test("a folder is refused as an output file", async () => {
  using folder = new Folder();
  expect(await exportTo(folder, ".")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("the output file cannot be written (EISDIR)"),
  });
});

const files = [
  "chats.db",
  "chats.db-wal",
  "chats.db-shm",
  "chats.db-journal",
  "link.db",
  "hard.db",
  "folder/../link/chats.db-wal",
];

test.each(files)("a file of the exported database is refused as an output file: %s", async (name) => {
  using folder = new Folder();
  await using stores = folder.stores();
  await stores.open("a").addMessages([{ role: "user", content: "x" }]);
  mkdirSync(folder.file("folder"));
  symlinkSync(folder.path, folder.file("link"));
  symlinkSync("chats.db", folder.file("link.db"));
  linkSync(folder.file("chats.db"), folder.file("hard.db"));
  const before = readdirSync(folder.path).map((file) => [file, lstatSync(folder.file(file)).mtimeMs]);
  for (const url of [folder.url(), folder.url("link/chats"), folder.url("link"), folder.url("hard")]) {
    const isBesideAnotherName = url === folder.url("hard") && name.includes("-");
    if (isBesideAnotherName) continue;
    expect(await run(["export", url, "--output", folder.file(name)])).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--output is a file of the database"),
    });
  }
  expect(readdirSync(folder.path).map((file) => [file, lstatSync(folder.file(file)).mtimeMs])).toEqual(
    before,
  );
});

test.each(["link", "hard", "chats.db-wal"])("a copy to a file of its source is refused: %s", async (name) => {
  using folder = new Folder();
  await using stores = folder.stores();
  await stores.open("a").addMessages([{ role: "user", content: "x" }]);
  symlinkSync("chats.db", folder.file("link.db"));
  linkSync(folder.file("chats.db"), folder.file("hard.db"));
  const target = name.includes(".") ? `sqlite:${folder.file(name)}` : folder.url(name);
  expect(await run(["copy", folder.url(), target])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("source and target are the same"),
  });
});
