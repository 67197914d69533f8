// What the tests start as another process: node child.ts <job> <path of the database> <name>
import { writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "@scrollback/store-core";
import { createSqliteStores } from "../src/index.ts";
import { user } from "./messages.ts";

const [job = "", path = "", name = ""] = process.argv.slice(2);
const url = `sqlite:${path}`;
/** At once, so that what was said before a kill has been said. */
const say = (line: string) => writeSync(1, `${line}\n`);

const jobs: Record<string, () => Promise<void>> = {
  /** Adds batches of 200 messages until it is killed, and says the number of each that was acknowledged. */
  async write() {
    const store = createSqliteStores({ url }).open("thread");
    for (let batch = 1; ; batch++) {
      const text = `${name} ${batch}`;
      await store.addMessages(
        Array.from({ length: 200 }, (_, index) => user(`${text} ${index} ${"x".repeat(500)}`)),
      );
      say(String(batch));
    }
  },

  /** Begins and deletes one thread, 40 times, and lists all in between. */
  async delete() {
    await using stores = createSqliteStores({ url });
    for (let turn = 1; turn <= 40; turn++) {
      await stores.open("thread").addMessages(Array.from({ length: 1_500 }, () => user(`${name} ${turn}`)));
      const { threads } = await stores.listThreads();
      if (threads.some(({ threadId, count }) => threadId !== "thread" || count % 1_500 !== 0))
        process.exit(1);
      await stores.deleteThread("thread");
    }
  },

  /** Deletes the thread, having said so. */
  async remove() {
    await using stores = createSqliteStores({ url });
    await stores.setup();
    say("deleting");
    await stores.deleteThread("thread");
  },

  /** Takes the write lock, says so, and holds it until it is killed. */
  async lock() {
    const database = new DatabaseSync(path);
    database.exec("BEGIN IMMEDIATE");
    say("locked");
    // Something has to hold the connection: one that is collected lets go of its locks.
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

  /** Adds messages until one fails, and says how many there are then and what the error was. */
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
