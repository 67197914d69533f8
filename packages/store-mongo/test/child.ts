// A program for tests with several processes: node child.ts <job> <namespace> [argument…]
import { writeSync } from "node:fs";
import { createMongoStores } from "../src/index.ts";
import { connect, type Namespace } from "./client.ts";
import { user } from "./messages.ts";

const [job = "", data = "{}", ...rest] = process.argv.slice(2);
const namespace: Namespace = JSON.parse(data);
/** Writes synchronously, so that a kill does not lose earlier output. */
const say = (line: unknown) => writeSync(1, `${JSON.stringify(line)}\n`);

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
};

await jobs[job]?.();
