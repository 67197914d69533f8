import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkShared, shownUrl, whereItLies } from "./place.ts";

test("a URL is shown without user, password and parameters", () => {
  for (const [url, shown] of [
    ["redis://localhost:6379/1", "redis://localhost:6379/1"],
    ["redis://:secret@localhost", "redis://localhost"],
    ["rediss://user:secr@t/x?y@host:1", "rediss://host:1"],
    ["mongodb+srv://u:secret@a,b/db?authSource=secret", "mongodb+srv://a,b/db"],
    ["sqlite:/tmp/a@b.db", "sqlite:/tmp/a@b.db"],
  ] as const) {
    expect(shownUrl(url)).toBe(shown);
  }
});

test("a store of one process is refused", () => {
  expect(() => checkShared("memory:")).toThrow("give a file like sqlite:chats.db");
  expect(() => checkShared("sqlite::memory:")).toThrow("--store");
  for (const url of ["sqlite:memory.db", "redis://localhost"]) expect(() => checkShared(url)).not.toThrow();
});

test("the location of the data: a file and its size, or the server", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-place-"));
  const file = join(folder, "chats.db");
  try {
    expect(await whereItLies(`sqlite:${file}`)).toBe(`${file} (0 B)`);
    await writeFile(file, "x".repeat(1_500));
    await writeFile(`${file}-wal`, "x".repeat(600));
    expect(await whereItLies(`sqlite:${file}`)).toBe(`${file} (2.1 KB)`);
  } finally {
    await rm(folder, { recursive: true });
  }
  expect(await whereItLies("redis://:secret@localhost")).toBe("redis://localhost");
});
