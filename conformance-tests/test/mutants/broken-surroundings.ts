import { type Driver, type ErrorClass, MemoryDriver, type ThreadSnapshot } from "@scrollback/store-core";
import type { Harness } from "../../src/harness.ts";
import { wrapDriver } from "../../src/wrapped-driver.ts";
import type { LoopbackDriver } from "../loopback/driver.ts";
import { loopbackHarness } from "../loopback/harness.ts";
import { memoryHarness } from "../memory-harness.ts";
import type { Mutant } from "./mutant.ts";

const loopback = (wrap: (driver: LoopbackDriver) => Driver) => () => loopbackHarness(wrap);

/** The memory driver with a change to how threads are taken out of it and put into it. */
const memoryThatMoves = (change: (driver: MemoryDriver) => Partial<Driver>) => async (): Promise<Harness> => {
  const driver = new MemoryDriver();
  return await memoryHarness(wrapDriver(driver, change(driver)));
};

const whole = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined, metadata: false };

/** Backends that break a promise where they meet a network, other processes, what lies at rest, or a state. */
export const brokenSurroundings: readonly Mutant[] = [
  {
    name: "takes an outage for an empty history",
    breaks: "C13",
    createHarness: loopback((driver) =>
      wrapDriver(driver, {
        read: (request) =>
          driver.read(request).catch(() => ({ revision: null, count: 0, first: 0, last: 0, entries: [] })),
      }),
    ),
  },
  {
    name: "says the password",
    breaks: "C13",
    async createHarness() {
      const secret = "hunter2";
      const harness = await loopbackHarness((driver) =>
        wrapDriver(driver, {
          classifyError(error): ErrorClass | undefined {
            const known = driver.classifyError(error);
            return known && { ...known, message: `cannot reach loopback://ada:${secret}@127.0.0.1` };
          },
        }),
      );
      return { ...harness, secrets: [secret] };
    },
  },
  {
    name: "gives up at the first cut",
    breaks: "C4",
    createHarness: loopback((driver) =>
      wrapDriver(driver, {
        classifyError(error): ErrorClass | undefined {
          const known = driver.classifyError(error);
          return known && { ...known, retryable: false };
        },
      }),
    ),
  },
  {
    name: "connects when it is made",
    breaks: "C14",
    createHarness: loopback((driver) => {
      driver.setup().catch(() => {});
      return driver;
    }),
  },
  {
    name: "waits for its last reply before it closes",
    breaks: "C14",
    createHarness: loopback((driver) => {
      let last: Promise<unknown> = Promise.resolve();
      return wrapDriver(driver, {
        commit(request) {
          const outcome = driver.commit(request);
          last = outcome.catch(() => {});
          return outcome;
        },
        async close() {
          await Promise.race([last, new Promise((resolve) => setTimeout(resolve, 5_000))]);
          await driver.close();
        },
      });
    }),
  },
  {
    name: "reads the thread before it adds to it",
    breaks: "C12",
    createHarness: loopback((driver) =>
      wrapDriver(driver, {
        async commit(request) {
          for (let after = 0; ; after += 1_000) {
            const page = { ...whole, threadId: request.threadId, signal: undefined, after, limit: 1_000 };
            if ((await driver.read(page)).entries.length < 1_000) break;
          }
          return await driver.commit(request);
        },
      }),
    ),
  },
  {
    name: "loads all to give the newest few",
    breaks: "C7",
    createHarness: loopback((driver) =>
      wrapDriver(driver, {
        async read(request) {
          if (request.before !== undefined || request.after !== undefined) return await driver.read(request);
          const view = await driver.read({ ...request, limit: Number.POSITIVE_INFINITY });
          return { ...view, entries: view.entries.slice(Math.max(0, view.entries.length - request.limit)) };
        },
      }),
    ),
  },
  {
    name: "keeps what clear dropped",
    breaks: "C6",
    async createHarness() {
      const harness = await memoryHarness();
      const { driver, raw } = harness;
      const kept = new Map<string, string>();
      return {
        ...harness,
        driver: wrapDriver(driver, {
          commit(request) {
            kept.set(request.threadId, (kept.get(request.threadId) ?? "") + request.append.join("\n"));
            return driver.commit(request);
          },
        }),
        raw: { ...raw, dump: async (threadId) => (await raw.dump(threadId)) + (kept.get(threadId) ?? "") },
      };
    },
  },
  {
    name: "keeps bytes as lists of numbers",
    breaks: "C8",
    async createHarness() {
      const harness = await memoryHarness();
      const { raw } = harness;
      const numbers = (text: string) => (text.length < 10_000 ? text : Buffer.from(text).join(","));
      return { ...harness, raw: { ...raw, dump: async (threadId) => numbers(await raw.dump(threadId)) } };
    },
  },
  {
    name: "adds a state's messages again",
    breaks: "C10",
    createHarness: memoryThatMoves((driver) => ({
      importThread(threadId: string, snapshot: ThreadSnapshot) {
        const before = driver.exportThread(threadId);
        if (!before) return driver.importThread(threadId, snapshot);
        void driver.commit({
          threadId,
          operationId: crypto.randomUUID(),
          digest: "",
          newEpoch: "epoch",
          expectedRevision: undefined,
          drop: 0,
          append: snapshot.messages,
          metadata: undefined,
          maxMessages: undefined,
          trimming: "turns",
          ttlMs: undefined,
          signal: undefined,
        });
      },
    })),
  },
  {
    name: "leaves the metadata out of a state",
    breaks: "C10",
    createHarness: memoryThatMoves((driver) => ({
      exportThread(threadId: string) {
        const snapshot = driver.exportThread(threadId);
        return snapshot && { messages: snapshot.messages };
      },
    })),
  },
];
