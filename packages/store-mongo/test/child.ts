// A program for tests with several processes: node child.ts <job> <namespace> [argument…]
import { writeSync } from "node:fs";
import { DocumentDriver } from "@scrollback/documents";
import { createStores } from "@scrollback/store-core/driver";
import { createMongoStores } from "../src/index.ts";
import { MongoDocuments } from "../src/mongo-documents.ts";
import { parseOptions } from "../src/options.ts";
import { connect, type Namespace } from "./client.ts";
import { watchable, watchCommands } from "./commands.ts";
import { user } from "./messages.ts";

const [job = "", data = "{}", ...rest] = process.argv.slice(2);
const namespace: Namespace = JSON.parse(data);
/** Writes synchronously, so that a kill does not lose earlier output. */
const say = (line: unknown) => writeSync(1, `${JSON.stringify(line)}\n`);

/** The report of one writer: the duration of each commit, and the number of updates of the commit with the most. */
export interface WriterReport {
  readonly milliseconds: number[];
  readonly mostUpdates: number;
  readonly commands: number;
}

const jobs: Record<string, () => Promise<void>> = {
  async setup() {
    await connect(namespace).setup?.();
    process.exit();
  },

  /** Adds a message with the option `setup`. */
  async first() {
    const [threadId = ""] = rest;
    const made: string[] = [];
    process.on("warning", ({ message }) => void made.push(message));
    await using stores = createMongoStores({ ...namespace, setup: true });
    await stores.open(threadId).addMessages([user("1")]);
    await new Promise(setImmediate);
    say(made);
  },

  /** Adds messages to a thread by several concurrent writers, each with its own client. */
  async write() {
    const [threadId = "", name, writers, messages] = rest;
    const reports = Array.from({ length: Number(writers) }, async (_, writer): Promise<WriterReport> => {
      const { collection: used } = parseOptions({ ...namespace, url: watchable(namespace.url) });
      const sent = watchCommands(used.client);
      await using stores = createStores(new DocumentDriver(new MongoDocuments(used)));
      const store = stores.open(threadId);
      const milliseconds: number[] = [];
      const updates: number[] = [];
      for (let message = 0; message < Number(messages); message++) {
        const [start, before] = [performance.now(), sent.length];
        await store.addMessages([user(`${name}.${writer} ${message}`)]);
        milliseconds.push(performance.now() - start);
        updates.push(sent.slice(before).filter((command) => command.name === "update").length);
      }
      return { milliseconds, mostUpdates: Math.max(...updates), commands: sent.length };
    });
    say(await Promise.all(reports));
  },

  /**
   * Changes a thread until it is killed, and prints the name of each acknowledged change. Each change is a batch of five
   * messages. Every fourth batch is large enough for several pages; every tenth change drops all earlier messages.
   */
  async change() {
    const [threadId = "", name] = rest;
    const store = createStores(connect(namespace), { maxMessages: 60 }).open(threadId);
    for (let change = 1; ; change++) {
      const padding = "x".repeat(change % 4 === 0 ? 2_000_000 : 10);
      const append = Array.from({ length: 5 }, (_, index) => user(`${name} ${change} ${index} ${padding}`));
      await store.commit({
        append,
        ...(change % 10 === 0 && { drop: "all" }),
        metadata: `${name} ${change}`,
      });
      say(`${name} ${change}`);
    }
  },
};

await jobs[job]?.();
