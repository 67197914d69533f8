import { readFileSync, statSync } from "node:fs";
import { REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { withoutBusyTimeout } from "../src/busy-timeout.ts";
import { openNodeSqlite } from "../src/clients/index.ts";
import { createSqliteStores } from "../src/index.ts";
import { migrate } from "../src/schema.ts";
import { Transactions } from "../src/transactions.ts";
import { connect } from "./harness.ts";
import { user, users } from "./messages.ts";
import { commitRequest, failure, userText, useScratch } from "./scratch.ts";

const scratch = useScratch();

describe("stored data", () => {
  test("a text with a NUL character is stored as bytes, of which every version of Node.js reads all", async () => {
    const driver = connect(scratch.path);
    await driver.commit(commitRequest({ append: [userText("a\0b")], metadata: "a\0b" }));
    for (const table of ["messages", "metadata"])
      expect(scratch.query(`SELECT typeof(text) AS type FROM scrollback_${table}`)).toEqual([
        { type: "blob" },
      ]);
    await driver.close();
  });

  test("the newest 64 operations are remembered, and the rows of older ones removed 16 at a time", async () => {
    const driver = connect(scratch.path);
    const counted = () => scratch.query("SELECT count(*) AS rows FROM scrollback_commits")[0]?.rows;
    for (let number = 1; number <= 80; number++) {
      await driver.commit(
        commitRequest({ operationId: `operation-${number}`, append: [userText(`${number}`)] }),
      );
      expect(counted()).toBe(number < 80 ? number : REMEMBERED_OPERATIONS);
    }
    const repeat = (number: number) => driver.commit(commitRequest({ operationId: `operation-${number}` }));
    expect(await repeat(17)).toEqual({ outcome: "repeated", revision: "newEpochOf16char.17" });
    expect(await repeat(16)).toEqual({ outcome: "committed", revision: "newEpochOf16char.81" });
    await driver.close();
  });

  test("an append rewrites neither the metadata nor existing messages", async () => {
    await using stores = createSqliteStores({ url: scratch.url, ttlMs: 60_000 });
    const store = stores.open("a");
    await store.commit({ append: users(2_000), metadata: "x".repeat(250_000) });
    await stores.open("emptied").clear();
    const before = statSync(`${scratch.path}-wal`).size;
    await store.addMessages([user("one more")]);
    expect(statSync(`${scratch.path}-wal`).size - before).toBeLessThan(8 * 8_192);
  });
});

describe("the layout's version", () => {
  test("a process that waited for another one's migration does not repeat it", () => {
    const slower = openNodeSqlite(scratch.path);
    const faster = openNodeSqlite(scratch.path);
    class Overtaken extends Transactions {
      override run<T>(mode: "read" | "write", step: () => T): T {
        migrate(faster, new Transactions(faster, withoutBusyTimeout(faster)), "scrollback_");
        return super.run(mode, step);
      }
    }
    migrate(slower, new Overtaken(slower, withoutBusyTimeout(slower)), "scrollback_");
    expect(scratch.query("SELECT version FROM scrollback_schema")).toEqual([{ version: 2 }]);
    slower.close();
    faster.close();
  });

  test("a failed migration leaves the database at its old version", async () => {
    scratch.exec("CREATE TABLE scrollback_metadata (own TEXT)");
    await using stores = createSqliteStores({ url: scratch.url });
    expect(await failure(stores.open("a").read())).toMatchObject({ code: "UNSUPPORTED" });
    expect(scratch.query("SELECT name FROM sqlite_schema")).toEqual([{ name: "scrollback_metadata" }]);
    scratch.exec("DROP TABLE scrollback_metadata");
    expect(await stores.open("a").listMessages()).toEqual([]);
  });

  test("a database of a newer version is rejected and stays unchanged", async () => {
    const first = createSqliteStores({ url: scratch.url });
    await first.open("a").addMessages([user("kept")]);
    await first.close();
    scratch.exec("UPDATE scrollback_schema SET version = 3");
    const before = readFileSync(scratch.path);
    await using stores = createSqliteStores({ url: scratch.url });
    const expected = {
      code: "UNSUPPORTED",
      message: expect.stringContaining("upgrade @scrollback/store-sqlite"),
    };
    expect(await failure(stores.open("a").addMessages([user("x")]))).toMatchObject(expected);
    expect(await failure(stores.open("a").listMessages())).toMatchObject(expected);
    expect(readFileSync(scratch.path).equals(before)).toBe(true);
  });

  test("a process that has the file open while another migrates it stops with a clear error", async () => {
    await using stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages([user("kept")]);
    const expected = { code: "UNSUPPORTED", message: expect.stringContaining("upgrade") };
    scratch.exec("ALTER TABLE scrollback_messages ADD COLUMN size INTEGER");
    expect(await failure(stores.open("a").addMessages([user("x")]))).toMatchObject(expected);
    scratch.exec("ALTER TABLE scrollback_threads RENAME TO scrollback_conversations");
    expect(await failure(stores.open("a").addMessages([user("x")]))).toMatchObject(expected);
    expect(await failure(stores.open("a").listMessages())).toMatchObject(expected);
  });
});
