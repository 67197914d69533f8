// A program for tests with several processes: node child.ts <job> <path of the database> <name>
import { writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import Database from "better-sqlite3";
import { createSqliteStores } from "../src/index.ts";
import { user } from "./messages.ts";

const [job = "", path = "", name = ""] = process.argv.slice(2);
const url = `sqlite:${path}`;
/** Writes synchronously, so that a kill does not lose earlier output. */
const say = (line: string) => writeSync(1, `${line}\n`);

const jobs: Record<string, () => Promise<void>> = {
  /** Prints a line, then deletes the thread. */
  async remove() {
    await using stores = createSqliteStores({ url });
    await stores.setup();
    say("deleting");
    await stores.deleteThread("thread");
  },

  /** Takes the write lock, prints a line, and holds the lock until it is killed. */
  async lock() {
    const database = new DatabaseSync(path);
    database.exec("BEGIN IMMEDIATE");
    say("locked");
    // The timer references the connection, because a garbage-collected connection releases its locks.
    setInterval(() => database.exec("SELECT 1"), 1_000);
  },

  /** Opens the file, adds a message and closes it, 25 times. */
  async reopen() {
    for (let turn = 1; turn <= 25; turn++) {
      await using stores = createSqliteStores({ url });
      await stores.open("thread").addMessages([user(`${name} ${turn}`)]);
      await stores.open("thread").listMessages({ limit: 3 });
    }
  },

  /** Adds 100 messages and deletes another thread, by a client of better-sqlite3 if its name begins so. */
  async mix() {
    const client = name.startsWith("better") ? new Database(path) : new DatabaseSync(path);
    await using stores = createSqliteStores({ client });
    for (let turn = 1; turn <= 100; turn++) {
      await stores.open("thread").addMessages([user(`${name} ${turn}`)]);
      await stores.open("thread").listMessages({ limit: 3 });
      if (turn % 20 === 0) await stores.deleteThread("other");
    }
    await stores.close();
    client.close();
  },

  /** Adds messages for 4 s, without a pause, from the time that is its name. Prints the number and the longest wait. */
  async write() {
    await using stores = createSqliteStores({ url });
    const store = stores.open(`thread of ${process.pid}`);
    await stores.setup();
    await sleep(Number(name) - Date.now());
    let commits = 0;
    let longest = 0;
    for (const end = performance.now() + 4_000; performance.now() < end; commits++) {
      const asked = performance.now();
      await store.addMessages([user("hello")]);
      longest = Math.max(longest, performance.now() - asked);
    }
    say(JSON.stringify({ commits, longest }));
  },

  /** Adds messages until one fails, then prints the number of messages and the error. */
  async fill() {
    const store = createSqliteStores({ url }).open("thread");
    for (let added = 0; ; added++) {
      try {
        await store.addMessages([user("x".repeat(10_000))]);
      } catch (error) {
        if (!StoreError.is(error)) throw error;
        const { code, retryable, message } = error;
        const left = (await store.listMessages()).length;
        say(JSON.stringify({ code, retryable, message, added, left }));
        return;
      }
    }
  },
};

await jobs[job]?.();
