// A program for tests with several processes: node child.ts <job> <url> [argument…]
import { createDynamoStores } from "../src/index.ts";
import { parseOptions } from "../src/options.ts";
import { user } from "./messages.ts";
import { watchRequests } from "./requests.ts";

const [job = "", url = "", ...rest] = process.argv.slice(2);

/** The report of one writer: the duration of each commit, and the total number of requests. */
export interface WriterReport {
  readonly milliseconds: number[];
  readonly requests: number;
}

const jobs: Record<string, () => Promise<unknown>> = {
  /** Adds messages to a thread by several concurrent writers, each with its own client. */
  async write() {
    const [threadId = "", name, writers, messages] = rest;
    return await Promise.all(
      Array.from({ length: Number(writers) }, async (_, writer): Promise<WriterReport> => {
        const { client, tableName } = parseOptions({ url }).connection;
        const requests = watchRequests(client);
        const store = createDynamoStores({ client, tableName }).open(threadId);
        const milliseconds: number[] = [];
        for (let message = 0; message < Number(messages); message++) {
          const start = performance.now();
          await store.addMessages([user(`${name}.${writer} ${message}`)]);
          milliseconds.push(performance.now() - start);
        }
        client.destroy();
        return { milliseconds, requests: requests() };
      }),
    );
  },

  async setup() {
    await using stores = createDynamoStores({ url });
    await stores.setup();
  },

  /** Prints the error of a first call, with the complete content of its cause. */
  async fail() {
    const { inspect } = await import("node:util");
    await using stores = createDynamoStores({ url });
    const error = await stores
      .open("a")
      .listMessages()
      .catch((thrown) => thrown);
    const { code, retryable, message, cause } = error;
    return { code, retryable, message, cause: inspect(cause) };
  },
};

console.log(JSON.stringify((await jobs[job]?.()) ?? null));
