// A program for tests with several processes: node child.ts <job> <url>
import { createDynamoStores } from "../src/index.ts";

const [job = "", url = ""] = process.argv.slice(2);

const jobs: Record<string, () => Promise<unknown>> = {
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
