// Exceeds 300 lines because it tests the complete example: each operation, the sweep and the errors, on the same files.
import {
  appendFile,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogRow } from "@scrollback/record-log";
import { StoreError } from "@scrollback/store-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createFileStores, FileRecordLog } from "../file-record-log.ts";
import { sweepFiles } from "../sweep-files.ts";

const HOUR_MS = 60 * 60 * 1000;

let directory: string;
let log: FileRecordLog;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "scrollback-file-log-"));
  log = new FileRecordLog(directory);
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const row = (number: number, texts: string[] = [`text ${number}`], expiresAt?: number): LogRow => ({
  number,
  head: `head ${number}`,
  texts,
  expiresAt,
});
const readAll = (stream = "a") => log.read(stream, Number.POSITIVE_INFINITY, 10_000, false);
const numbersOf = (rows: LogRow[]) => rows.map(({ number }) => number);

async function files(): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
const rowFile = async () =>
  (await files()).find((file) => /\/\d{3}$/.test(file) && !file.includes(".")) ?? "";
const textsFile = async () => (await files()).find((file) => /\.[^/]*$/.test(file)) ?? "";
const contents = async () =>
  (await Promise.all((await files()).map((file) => readFile(file, "latin1")))).join("\n");

describe("insert and read", () => {
  test("returns rows unchanged, highest first, across folders of a thousand", async () => {
    const numbers = [1, 999, 1_000, 1_001, Date.now() * 2048, Number.MAX_SAFE_INTEGER];
    for (const number of numbers)
      expect(await log.insert("a", row(number, ["", "é\n\0", "x"], 5))).toBe(true);
    expect(await readAll()).toStrictEqual(
      numbers.toReversed().map((number) => row(number, ["", "é\n\0", "x"], 5)),
    );
    expect(numbersOf(await log.read("a", 1_001, 2, false))).toEqual([1_000, 999]);
    expect(await log.read("a", 1_001, 0, false)).toEqual([]);
    expect((await log.read("a", 2, 1, true)).map(({ head }) => head)).toEqual(["head 1"]);
    expect(await readAll("b")).toEqual([]);
  });

  test("one of many concurrent inserts of a key wins, and the others leave no file", async () => {
    const logs = Array.from({ length: 8 }, () => new FileRecordLog(directory));
    const won = await Promise.all(logs.map((other, index) => other.insert("a", row(7, [`by ${index}`]))));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await readAll()).toStrictEqual([row(7, [`by ${won.indexOf(true)}`])]);
    expect(await files()).toHaveLength(2);
  });

  test("a key stays taken after blanking and after its expiry", async () => {
    await log.insert("a", row(1, ["x"], 1));
    await log.amend("a", [{ from: 1, to: 2, blank: "all" }]);
    expect(await log.insert("a", row(1))).toBe(false);
    expect(await readAll()).toStrictEqual([row(1, [""], 1)]);
  });

  test("only the owner can read the files", async () => {
    await log.insert("a", row(1));
    for (const file of await files()) expect((await stat(file)).mode & 0o777).toBe(0o600);
  });
});

describe("amend", () => {
  test("blanks, sets and extends the rows that exist, and no others", async () => {
    for (const number of [1, 2, 4]) await log.insert("a", row(number, ["one", "two", "three"], 100));
    await log.insert("b", row(2));
    await log.amend("a", [
      { from: 2, to: 4, blank: { from: 1, to: 3 }, expiresAt: 50 },
      { from: 1, to: 3, extend: { to: 70, atLeast: 0 } },
      { from: 4, to: Number.MAX_SAFE_INTEGER, blank: "all", extend: { to: null, atLeast: 100 } },
    ]);
    expect(await readAll()).toStrictEqual([
      row(4, ["", "", ""], undefined),
      row(2, ["one", "", ""], 70),
      row(1, ["one", "two", "three"], 100),
    ]);
    await log.amend("a", [{ from: 4, to: 5, extend: { to: 900, atLeast: 0 } }]);
    expect((await readAll())[0]?.expiresAt, "a permanent row stays permanent").toBeUndefined();
    await log.amend("a", [{ from: 4, to: 5, expiresAt: 3 }]);
    expect((await readAll())[0]?.expiresAt).toBe(3);
    expect(await readAll("b")).toStrictEqual([row(2)]);
  });

  test("extends only the rows that expire at a given time or later", async () => {
    for (const [number, expiresAt] of [99, 100, 101].entries())
      await log.insert("a", row(number + 1, [], expiresAt));
    await log.amend("a", [{ from: 1, to: 4, extend: { to: 200, atLeast: 100 } }]);
    expect((await readAll()).map(({ expiresAt }) => expiresAt)).toEqual([200, 200, 99]);
    await log.amend("a", [{ from: 1, to: 4, extend: { to: null, atLeast: 100 } }]);
    expect((await readAll()).map(({ expiresAt }) => expiresAt)).toEqual([undefined, undefined, 99]);
  });

  test("blanked text is removed from the disk", async () => {
    await log.insert("a", row(1, ["secret one", "kept two", "secret three"]));
    await log.amend("a", [{ from: 1, to: 2, blank: { from: 0, to: 1 } }]);
    await log.amend("a", [{ from: 1, to: 2, blank: { from: 2, to: 3 } }]);
    expect(await readAll()).toStrictEqual([row(1, ["", "kept two", ""])]);
    expect(await contents()).toContain("kept two");
    expect(await contents()).not.toContain("secret");
    await log.amend("a", [{ from: 1, to: 2, blank: "all" }]);
    expect(await files(), "the texts' file is deleted").toHaveLength(1);
  });

  test("concurrent amendments do not undo each other", async () => {
    const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
    await log.insert("a", row(1, texts, 1));
    await Promise.all(
      texts.map((_, index) =>
        new FileRecordLog(directory).amend("a", [
          {
            from: 1,
            to: 2,
            blank: { from: index, to: index + 1 },
            extend: { to: 1_000 - index, atLeast: 0 },
          },
        ]),
      ),
    );
    expect(await readAll()).toStrictEqual([
      row(
        1,
        texts.map(() => ""),
        1_000,
      ),
    ]);
    expect(await contents()).not.toContain("text");
  });

  test("a text that is partly blanked, or cut by an unfinished blanking, is blank", async () => {
    await log.insert("a", row(1, ["one", "two"]));
    const file = await textsFile();
    await writeFile(file, Buffer.from("6fff6574776f", "hex"));
    expect((await readAll())[0]?.texts).toEqual(["", "two"]);
    await truncate(file, 4);
    expect((await readAll())[0]?.texts).toEqual(["", ""]);
  });

  test("a change of the expiry that a full disk cut has no effect", async () => {
    await log.insert("a", row(1, ["x"], 100));
    const change = '\n{"expiresAt":20};';
    for (let length = 1; length < change.length; length++) {
      await appendFile(await rowFile(), change.slice(0, length));
      expect((await readAll())[0]?.expiresAt).toBe(99 + length);
      await log.amend("a", [{ from: 1, to: 2, extend: { to: 100 + length, atLeast: 0 } }]);
      expect((await readAll())[0]?.expiresAt).toBe(100 + length);
    }
  });
});

describe("streams", () => {
  test("pages through the names in the roots, and skips foreign files", async () => {
    await writeFile(join(directory, "notes.txt"), "mine");
    const names = ["a", "a/b", "../c", "\0", "💬"];
    for (const name of names) await log.insert(name, row(1));
    await log.insert("not a root", row(Date.now() * 2048));
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await log.streams({ prefix: "", limit: 2, after });
      expect(page.streams.length).toBeLessThanOrEqual(2);
      found.push(...page.streams);
      after = page.next;
    } while (after !== undefined);
    expect(found.sort()).toEqual(names.toSorted());
    expect((await log.streams({ prefix: "a", limit: 10, after: undefined })).streams.toSorted()).toEqual([
      "a",
      "a/b",
    ]);
    await sweepFiles(directory, Date.now());
    await log.amend("a", [{ from: 1, to: 2, expiresAt: 5 }]);
    await sweepFiles(directory, 5);
    expect((await log.streams({ prefix: "a", limit: 10, after: undefined })).streams).toEqual(["a/b"]);
  });

  test("an amended expiry keeps the name", async () => {
    await log.insert("a", row(1, [], 100));
    await log.amend("a", [{ from: 1, to: 2, expiresAt: 1_000 }]);
    expect(await log.streams({ prefix: "", limit: 10, after: undefined })).toEqual({ streams: ["a"] });
  });
});

describe("sweepFiles", () => {
  test("deletes expired rows, and frees their keys", async () => {
    await log.insert("a", row(1, ["secret"], 100));
    await log.insert("a", row(2, ["kept"], 100));
    await log.insert("a", row(3, ["kept"]));
    await log.insert("b", row(1, ["secret"], 100));
    await log.amend("a", [{ from: 2, to: 3, extend: { to: 101, atLeast: 100 } }]);
    expect(await sweepFiles(directory, 99)).toBe(0);
    expect(await sweepFiles(directory, 100)).toBe(2);
    expect(numbersOf(await readAll())).toEqual([3, 2]);
    expect(await contents()).not.toContain("secret");
    expect(await readdir(directory), "the empty folder is deleted").toHaveLength(1);
    expect(await log.insert("b", row(1))).toBe(true);
    expect(await log.insert("a", row(1))).toBe(true);
  });

  test("deletes what a process that died during an insert left, after one hour", async () => {
    await log.insert("a", row(1));
    const before = await files();
    const left = [`${await rowFile()}.other`, `${await rowFile()}.other.row`];
    for (const file of left) await writeFile(file, "left");
    expect(numbersOf(await readAll()), "no row").toEqual([1]);
    await sweepFiles(directory);
    expect(await files()).toHaveLength(before.length + 2);
    const old = (Date.now() - HOUR_MS) / 1000;
    for (const file of await files()) await utimes(file, old, old);
    await sweepFiles(directory);
    expect((await files()).sort()).toEqual(before.sort());
  });

  test("does not change other files in the directory, and can run concurrently", async () => {
    await writeFile(join(directory, "notes.txt"), "mine");
    for (let number = 1; number <= 50; number++) await log.insert("a", row(number, ["x"], 1));
    const swept = await Promise.all([sweepFiles(directory), sweepFiles(directory)]);
    expect(Math.max(...swept)).toBeLessThanOrEqual(50);
    expect(await readdir(directory)).toEqual(["notes.txt"]);
  });

  test("deletes the rows of a long-expired thread, its root last, and the thread can be created again", async () => {
    const stores = createFileStores(directory, { ttlMs: 1 });
    const store = stores.open("chat");
    await store.addMessages([{ role: "user", content: "secret" }]);
    expect(await sweepFiles(directory), "its keys must stay for a while").toBe(0);
    expect(await sweepFiles(directory, Date.now() + 5 * 24 * HOUR_MS)).toBe(1);
    expect(await contents()).not.toContain("secret");
    expect(await sweepFiles(directory, Date.now() + 35 * 24 * HOUR_MS)).toBe(1);
    expect(await contents()).toBe("");
    await createFileStores(directory)
      .open("chat")
      .addMessages([{ role: "user", content: "new" }]);
    expect(await createFileStores(directory).open("chat").listMessages()).toHaveLength(1);
  });
});

describe("errors", () => {
  const codeOf = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => undefined,
      (error: unknown) => error,
    );
    return StoreError.is(error) ? error.code : error;
  };

  test("a missing directory is an outage, never an empty history", async () => {
    const store = createFileStores(join(directory, "not mounted")).open("chat");
    const signal = AbortSignal.timeout(50);
    const error = await store.listMessages({ signal }).catch((error: unknown) => error);
    expect(StoreError.is(error, "ABORTED"), "retried until the caller aborted").toBe(true);
    const missing = new FileRecordLog(join(directory, "not mounted"));
    const verbs = [
      () => missing.read("a", 2, 1, false),
      () => missing.insert("a", row(1)),
      () => missing.amend("a", [{ from: 1, to: 2 }]),
      () => missing.streams({ prefix: "", limit: 1, after: undefined }),
    ];
    for (const verb of verbs) {
      const meaning = missing.classifyError(await verb().catch((error: unknown) => error));
      expect(meaning).toMatchObject({ code: "UNAVAILABLE", retryable: true });
      expect(meaning?.message).toContain("create it");
    }
    expect(await readdir(directory), "nothing was created").toEqual([]);
  });

  test("a damaged row file is CORRUPT", async () => {
    const store = createFileStores(directory).open("chat");
    await store.addMessages([{ role: "user", content: "a" }]);
    await truncate(await rowFile(), 20);
    expect(await codeOf(createFileStores(directory).open("chat").listMessages())).toBe("CORRUPT");
  });

  test("the error names the cause", () => {
    const meaning = (code: string) => log.classifyError(Object.assign(new Error("raw"), { code }));
    expect(meaning("ENOSPC")?.message).toContain("disk is full");
    expect(meaning("EACCES")?.message).toContain("read and write");
    expect(meaning("EIO")).toBeUndefined();
    expect(log.classifyError("nonsense")).toBeUndefined();
  });

  test("an invalid directory or option is refused at once", () => {
    expect(() => createFileStores("")).toThrow("createFileStores: directory must be a non-empty string");
    expect(() => createFileStores(directory, { maxMessages: 0 })).toThrow("maxMessages");
  });
});
