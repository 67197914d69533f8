import {
  type Driver,
  type ErrorClassification,
  MemoryDriver,
  NO_THREAD,
} from "@scrollback/store-core/driver";
import type { Harness } from "../../src/harness.ts";
import { wrapDriver } from "../../src/wrapped-driver.ts";
import type { LoopbackDriver } from "../loopback/driver.ts";
import { loopbackHarness } from "../loopback/harness.ts";
import { memoryHarness } from "../memory-harness.ts";
import type { Mutant } from "./mutant.ts";

const loopback = (wrap: (driver: LoopbackDriver) => Driver) => () => loopbackHarness(wrap);

/** The memory driver with a change to the export and import of threads. */
const memoryThatMoves = (change: (driver: MemoryDriver) => Partial<Driver>) => async (): Promise<Harness> => {
  const driver = new MemoryDriver();
  return await memoryHarness(wrapDriver(driver, change(driver)));
};

/**
 * The number of commits that a pool of connections sends at once: the default of MongoDB's client, the largest of the known
 * pools.
 */
const POOL_SIZE = 100;

/** A driver that sends this number of commits at once. The others wait until one ends, and forever once the driver is closed. */
function withPool(driver: LoopbackDriver): Driver {
  const waiting: (() => void)[] = [];
  let busy = 0;
  let isClosed = false;
  return wrapDriver(driver, {
    async commit(request) {
      if (busy >= POOL_SIZE) await new Promise<void>((resolve) => waiting.push(resolve));
      busy += 1;
      try {
        return await driver.commit(request);
      } finally {
        busy -= 1;
        if (!isClosed) waiting.shift()?.();
      }
    },
    async close() {
      isClosed = true;
      await driver.close();
    },
  });
}

const whole = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined, metadata: false };

/** Backends that break a promise about a network, other processes, data at rest, or a state. */
export const brokenSurroundings: readonly Mutant[] = [
  {
    name: "returns an empty history in an outage",
    breaks: "C13",
    createHarness: loopback((driver) =>
      wrapDriver(driver, {
        read: (request) => driver.read(request).catch(() => NO_THREAD),
      }),
    ),
  },
  {
    name: "shows the password",
    breaks: "C13",
    async createHarness() {
      const secret = "hunter2";
      const harness = await loopbackHarness((driver) =>
        wrapDriver(driver, {
          classifyError(error): ErrorClassification | undefined {
            const known = driver.classifyError(error);
            return known && { ...known, message: `cannot reach loopback://ada:${secret}@127.0.0.1` };
          },
        }),
      );
      return { ...harness, secrets: [secret] };
    },
  },
  {
    name: "fails at the first lost connection",
    breaks: "C4",
    createHarness: loopback((driver) =>
      wrapDriver(driver, {
        classifyError(error): ErrorClassification | undefined {
          const known = driver.classifyError(error);
          return known && { ...known, retryable: false };
        },
      }),
    ),
  },
  {
    name: "connects when it is created",
    breaks: "C14",
    createHarness: loopback((driver) => {
      driver.setup().catch(() => {});
      return driver;
    }),
  },
  {
    name: "waits for a reply before it closes",
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
    name: "reads the thread before an append",
    breaks: "C12",
    says: /requests of .*roundTrips\.commit; look at `commit`/,
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
    name: "loads all messages to return the newest",
    breaks: "C7",
    says: /bytes of replies .*look at the limit that `read`/,
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
    name: "reads twice for the newest messages",
    breaks: "C7",
    says: /requests of .*roundTrips\.read; look at `read`/,
    createHarness: loopback((driver) =>
      wrapDriver(driver, {
        async read(request) {
          await driver.read({ ...request, limit: 0 });
          return await driver.read(request);
        },
      }),
    ),
  },
  {
    name: "waits without end for a lost reply",
    breaks: "C13",
    says: /expected a StoreError UNAVAILABLE, got a StoreError ABORTED/,
    createHarness: loopback((driver) => {
      driver.replyTimeoutMs = Number.POSITIVE_INFINITY;
      return driver;
    }),
  },
  {
    name: "leaves callers that wait for a connection pending when it closes",
    breaks: "C14",
    says: /expected a StoreError CLOSED, got a StoreError ABORTED/,
    createHarness: loopback(withPool),
  },
  {
    name: "keeps content dropped by clear",
    breaks: "C6",
    async createHarness() {
      const harness = await memoryHarness();
      const { driver, raw } = harness;
      const kept = new Map<string, string>();
      return {
        ...harness,
        driver: wrapDriver(driver, {
          commit(request) {
            kept.set(
              request.threadId,
              (kept.get(request.threadId) ?? "") + request.append.map(({ text }) => text).join("\n"),
            );
            return driver.commit(request);
          },
        }),
        raw: { ...raw, dump: async (threadId) => (await raw.dump(threadId)) + (kept.get(threadId) ?? "") },
      };
    },
  },
  {
    name: "stores bytes as lists of numbers",
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
      importThread(threadId: string, snapshot: NonNullable<ReturnType<typeof driver.exportThread>>) {
        const before = driver.exportThread(threadId);
        if (!before) return driver.importThread(threadId, snapshot);
        void driver.commit({
          threadId,
          operationId: crypto.randomUUID(),
          digest: "",
          newIncarnation: "incarnation",
          expectedRevision: undefined,
          drop: 0,
          append: snapshot.messages,
          metadata: undefined,
          maxMessages: undefined,
          trimming: "turns",
          ttlMs: undefined,
          createdAt: snapshot.createdAt,
          updatedAt: snapshot.updatedAt,
          signal: undefined,
        });
      },
    })),
  },
  {
    name: "omits the metadata from a state",
    breaks: "C10",
    createHarness: memoryThatMoves((driver) => ({
      exportThread(threadId: string) {
        const snapshot = driver.exportThread(threadId);
        if (!snapshot) return undefined;
        const { metadata: _, ...rest } = snapshot;
        return rest;
      },
    })),
  },
];
