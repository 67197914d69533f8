import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Driver,
  formatRevision,
  MemoryDriver,
  NO_THREAD,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { Backend } from "../src/backend.ts";
import { observeRun } from "../src/clauses/history-run.ts";
import { explain } from "../src/observed/explain.ts";
import { wrapDriver } from "../src/wrapped-driver.ts";
import { memoryHarness } from "./memory-harness.ts";
import { asking, whole } from "./mutants/changed-requests.ts";

/** Long enough for each mutant to break its promise dozens of times. */
const SECONDS = 2;
/** Of a mutant that was not seen yet. */
const MOST_RUNS = 10;

/** A driver that replies with a short delay, like a network. */
const slow = (driver: Driver) =>
  wrapDriver(driver, {
    async commit(request) {
      await sleep(Math.random() * 2);
      const outcome = await driver.commit(request);
      await sleep(Math.random() * 2);
      return outcome;
    },
    async read(request) {
      await sleep(Math.random() * 2);
      const view = await driver.read(request);
      await sleep(Math.random() * 2);
      return view;
    },
  });

/** A driver that loses some replies, so that the request is sent again. */
const losing = (driver: Driver, resent: (request: Parameters<Driver["commit"]>[0]) => object) =>
  wrapDriver(driver, {
    async commit(request) {
      const outcome = await driver.commit(request);
      return Math.random() < 0.1 ? await driver.commit({ ...request, ...resent(request) }) : outcome;
    },
  });

/** What is wrong with a backend; each breaks its promise only sometimes. */
const mutants: Readonly<Record<string, (driver: Driver) => Driver>> = {
  "loses an update": (driver) =>
    wrapDriver(driver, {
      async commit(request) {
        if (Math.random() > 0.1) return await driver.commit(request);
        const { revision } = await driver.read({ ...whole, threadId: request.threadId, signal: undefined });
        return { outcome: "committed", revision: revision ?? formatRevision(request.newIncarnation, 1) };
      },
    }),
  "returns stale reads": (driver) => {
    const last = new Map<string, ThreadView>();
    return wrapDriver(driver, {
      async read(request) {
        const key = JSON.stringify([request.threadId, request.limit]);
        const before = last.get(key);
        const view = await driver.read(request);
        last.set(key, view);
        return before && Math.random() < 0.1 ? before : view;
      },
    });
  },
  "applies a retried commit twice": (driver) => losing(driver, () => ({ operationId: randomUUID() })),
  "ignores the expected revision of a retried commit": (driver) =>
    losing(driver, () => ({ operationId: randomUUID(), expectedRevision: undefined, append: [] })),
  "acknowledges before it writes": (driver) =>
    wrapDriver(driver, {
      async commit(request) {
        if (request.drop !== 0 || request.expectedRevision !== undefined || Math.random() > 0.1)
          return await driver.commit(request);
        const view = await driver.read({ ...whole, threadId: request.threadId, signal: undefined });
        const [incarnation = request.newIncarnation, number = "0"] = view.revision?.split(".") ?? [];
        setTimeout(() => void driver.commit(request), 5);
        return { outcome: "committed", revision: formatRevision(incarnation, Number(number) + 1) };
      },
    }),
  "mixes two revisions in a read": (driver) =>
    wrapDriver(driver, {
      async read(request) {
        const one = await driver.read(request);
        await sleep(1);
        const other = await driver.read(request);
        return { ...other, entries: one.entries };
      },
    }),
  "returns a revision twice": (driver) =>
    wrapDriver(driver, {
      async commit(request) {
        const outcome = await driver.commit(request);
        const [incarnation = "", number] = outcome.revision?.split(".") ?? [];
        if (outcome.outcome !== "committed" || Number(number) % 20 !== 0) return outcome;
        return { ...outcome, revision: formatRevision(incarnation, Number(number) - 1) };
      },
    }),
  "lets two writers win": (driver) =>
    asking(() => (Math.random() < 0.3 ? { expectedRevision: undefined } : {}))(driver),
  "reads and writes back": (driver) =>
    wrapDriver(driver, {
      async commit(request) {
        if (request.drop !== 0 || request.expectedRevision !== undefined) return await driver.commit(request);
        const view = await driver.read({ ...whole, threadId: request.threadId, signal: undefined });
        await sleep(1);
        const append = [...view.entries, ...request.append];
        return await driver.commit({ ...request, drop: "all", append });
      },
    }),
  "writes a batch in two steps": (driver) =>
    wrapDriver(driver, {
      async commit(request) {
        if (request.append.length < 2) return await driver.commit(request);
        const first = { append: request.append.slice(0, 1), operationId: randomUUID() };
        await driver.commit({ ...request, ...first });
        const rest = { append: request.append.slice(1), drop: 0, expectedRevision: undefined };
        return await driver.commit({ ...request, ...rest });
      },
    }),
  "trims one too few": asking(({ maxMessages }) => ({ maxMessages: maxMessages && maxMessages + 1 })),
  "does not refresh the expiry": (driver) => {
    const ends = new Map<string, number>();
    return asking(({ threadId, ttlMs }) => {
      if (ttlMs === undefined) return {};
      const end = ends.get(threadId) ?? 0;
      if (end > Date.now()) return { ttlMs: end - Date.now() };
      ends.set(threadId, Date.now() + ttlMs);
      return {};
    })(driver);
  },
  "sets metadata in a later step": (driver) =>
    wrapDriver(driver, {
      async commit(request) {
        if (request.metadata === undefined || request.append.length === 0)
          return await driver.commit(request);
        const outcome = await driver.commit({ ...request, metadata: undefined });
        const second = { append: [], drop: 0, operationId: randomUUID(), expectedRevision: undefined };
        if (outcome.outcome === "committed") await driver.commit({ ...request, ...second });
        return outcome;
      },
    }),
  "reads a thread as empty in an outage": (driver) =>
    wrapDriver(driver, {
      read: async (request) => (Math.random() < 0.05 ? NO_THREAD : await driver.read(request)),
    }),
};

async function problemsOf(wrap: (driver: Driver) => Driver, seed = "the same each time"): Promise<string[]> {
  const harness = await memoryHarness(wrap(slow(new MemoryDriver())));
  const skip = (reason: string): never => {
    throw new Error(reason);
  };
  await using backend = new Backend(harness, { skip, createHarness: async () => harness });
  const { log, threads, observations } = await observeRun(backend, seed, SECONDS);
  await rm(dirname(log), { recursive: true });
  return threads.flatMap((thread) =>
    explain(
      observations.filter((observation) => observation.thread === thread.threadId),
      thread,
    ),
  );
}

test.concurrent("the history of a correct backend is explained", async () => {
  expect(await problemsOf((driver) => driver)).toEqual([]);
});

test.concurrent.each(Object.entries(mutants))(
  "the history of a backend that %s is not explained",
  async (name, wrap) => {
    let problems: string[] = [];
    // On a busy machine, the clients make fewer calls a second.
    for (let run = 1; problems.length === 0 && run <= MOST_RUNS; run++)
      problems = await problemsOf(wrap, `run ${run}`);
    console.log(
      `a backend that ${name}: ${[...new Set(problems.map((one) => one.split(":")[0]))].join(", ")}`,
    );
    expect(problems).not.toEqual([]);
  },
);
