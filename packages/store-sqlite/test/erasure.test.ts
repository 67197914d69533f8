import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MessageStore } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { useScratch } from "./scratch.ts";

const scratch = useScratch();

/** Whether any of the files contains a word. */
const isInFiles = (word: string): boolean =>
  readdirSync(scratch.directory).some((name) => readFileSync(join(scratch.directory, name)).includes(word));
const isInTables = (): boolean =>
  ["messages", "metadata"].some((table) =>
    scratch
      .query(`SELECT CAST(text AS TEXT) AS text FROM scrollback_${table}`)
      .some(({ text }) => String(text).includes("private")),
  );

const atOnce = {
  clear: (store: MessageStore) => store.clear(),
  "replaceMessages([])": (store: MessageStore) => store.replaceMessages([]),
  'commit({ drop: "all" })': (store: MessageStore) => store.commit({ drop: "all", metadata: null }),
};
const atCheckpoint = {
  replaceMessages: (store: MessageStore) => store.replaceMessages([user("new")]),
  'commit({ drop: "all", append })': (store: MessageStore) =>
    store.commit({ drop: "all", append: [user("new")] }),
  "commit({ drop: n })": (store: MessageStore) => store.commit({ drop: 1 }),
  popMessage: (store: MessageStore) => store.popMessage(),
  trimming: (store: MessageStore) => store.addMessages(users(3, "new")),
  "metadata replaced": (store: MessageStore) => store.commit({ drop: 1, metadata: "new" }),
};

test.each(Object.entries(atOnce))(
  "%s: content is in none of the files when the call returns",
  async (_, drop) => {
    await using stores = createSqliteStores({ url: scratch.url });
    const store = stores.open("a");
    await store.commit({ append: [user("private")], metadata: { title: "kept" } });
    await drop(store);
    expect(isInFiles("private")).toBe(false);
  },
);

test.each(Object.entries(atCheckpoint))(
  "%s: content is in no table when the call returns, and in no file after a checkpoint",
  async (name, drop) => {
    await using stores = createSqliteStores({ url: scratch.url, maxMessages: 3 });
    const store = stores.open("a");
    const metadata = name.startsWith("metadata") ? "private" : "title";
    await store.commit({ append: [user("private")], metadata });
    await drop(store);
    expect(isInTables()).toBe(false);
    expect(isInFiles("private"), "in the write-ahead log").toBe(true);
    // A commit to any thread has this effect, because the file has one log.
    await stores.open("another").addMessages([user("x")]);
    await stores.open("another").clear();
    expect(isInFiles("private")).toBe(false);
  },
);
