import { deepStrictEqual } from "node:assert/strict";
import { availableParallelism, loadavg } from "node:os";
import type { MessageStore, StoreFactory } from "@scrollback/store-core";
import { type Cell, type Effort, measure } from "../src/measure.ts";
import { messagesFrom } from "../src/messages.ts";
import type { Backend } from "./backends.ts";
import { type Connection, connect, type Location } from "./connect.ts";
import {
  type Costs,
  countOperations,
  type Figures,
  lengthOperations,
  type OperationName,
} from "./figures.ts";
import { fillThread, fillThreads, layThreads, type Progress, TURN, threadIdOf } from "./fill.ts";
import { pointOf } from "./fit.ts";
import { pageThrough } from "./paging.ts";

/** The extent of a run. */
export interface Plan {
  /** Thread lengths in messages, and numbers of threads; ascending. */
  readonly sizes: readonly number[];
  readonly pageSize: number;
  readonly effort: Effort;
}

export const thorough: Plan = {
  sizes: [10, 100, 1_000, 10_000, 100_000],
  pageSize: 100,
  effort: { warmUpMs: 1_000, measuredMs: 6_000, slowCalls: 10 },
};

/** A hundredth of the sizes and of the time. */
export const quick: Plan = {
  sizes: [10, 100, 1_000],
  pageSize: 10,
  effort: { warmUpMs: 10, measuredMs: 60, slowCalls: 1 },
};

export const NEWEST = 20;
/** The number of measured threads of a location, spread over all of its threads. */
export const SAMPLED = 10;

/** The threads that represent one size. */
interface Subject {
  readonly size: number;
  readonly location: Location;
  readonly threadIds: readonly string[];
  /** The number of messages of each thread. */
  readonly length: number;
  /** Whether a thread is replaced by a new one when appends have doubled its length. */
  readonly keepsLength: boolean;
}

/** A thread of a subject. */
interface Thread {
  store: MessageStore;
  threadId: string;
  /** The position in the conversation of the next appended message. */
  position: number;
}

/** Measures one backend: threads of every length, then locations with every count of threads. */
export async function run(
  backend: Backend,
  { sizes, pageSize, effort }: Plan,
  { signal, report }: { signal: AbortSignal; report: Progress },
): Promise<Figures> {
  const before = loadavg()[0] ?? Number.NaN;
  const largest = Math.max(...sizes);
  const location = backend.location(0);
  const long: Subject[] = sizes.map((size) => ({
    size,
    location,
    threadIds: [`thread-of-${size}`],
    length: size,
    keepsLength: true,
  }));
  report(`filling threads of up to ${largest.toLocaleString("en")} messages`);
  await fillThreads(
    location,
    sizes.map((length) => ({ threadId: `thread-of-${length}`, length })),
    signal,
  );
  report("paging through the longest");
  const paging = await pageThrough(
    { location, threadId: `thread-of-${largest}`, length: largest, pageSize },
    signal,
  );
  const byLength = await measureCosts(long, lengthOperations, effort, signal, (operation) =>
    report(`measuring ${operation} by length`),
  );

  const many: Subject[] = [];
  for (const [index, size] of sizes.entries()) {
    report(`laying down ${size.toLocaleString("en")} threads`);
    const location = backend.location(index + 1);
    await layThreads(backend, location, size, signal);
    const threadIds = Array.from({ length: SAMPLED }, (_, sampled) =>
      threadIdOf(Math.floor(((sampled + 0.5) * size) / SAMPLED)),
    );
    many.push({ size, location, threadIds, length: TURN, keepsLength: false });
  }
  const byCount = await measureCosts(many, countOperations, effort, signal, (operation) =>
    report(`measuring ${operation} by count of threads`),
  );
  return {
    name: backend.name,
    title: backend.title,
    versions: backend.versions,
    machine: {
      cores: availableParallelism(),
      node: process.versions.node,
      load: [before, loadavg()[0] ?? Number.NaN],
    },
    areCopies: backend.copyThread !== undefined,
    largest,
    byLength,
    byCount,
    paging,
  };
}

/**
 * Measures all sizes of each operation side by side, from the last operation to the first: reads run while threads have exactly
 * their lengths.
 */
async function measureCosts(
  subjects: readonly Subject[],
  operations: readonly OperationName[],
  effort: Effort,
  signal: AbortSignal,
  report: (operation: OperationName) => void,
): Promise<Costs> {
  const connections = new Map<Location, Connection>();
  try {
    const prepared: Prepared[] = [];
    for (const subject of subjects) {
      const connection = connections.get(subject.location) ?? connect(subject.location);
      connections.set(subject.location, connection);
      const { stores } = connection;
      const threads = subject.threadIds.map(
        (threadId): Thread => ({ store: stores.open(threadId), threadId, position: subject.length }),
      );
      for (const thread of threads) await checkNewest(thread, Math.min(NEWEST, subject.length));
      prepared.push({ subject, stores, threads });
    }
    const costs: Costs[number][] = [];
    for (const operation of operations.toReversed()) {
      report(operation);
      const cells = prepared.map((one) => cellOf(operation, one, signal));
      await measure(cells, effort, signal);
      const points = cells.map(({ times }, index) => pointOf(subjects[index]?.size ?? 0, times));
      costs.unshift({ operation, points });
    }
    for (const { threads } of prepared) for (const thread of threads) await checkNewest(thread, 1);
    return costs;
  } finally {
    for (const connection of connections.values()) await connection.close();
  }
}

interface Prepared {
  readonly subject: Subject;
  readonly stores: StoreFactory;
  readonly threads: readonly Thread[];
}

async function checkNewest({ store, position }: Thread, count: number): Promise<void> {
  deepStrictEqual(await store.listMessages({ limit: count }), messagesFrom(position - count, count));
}

function cellOf(operation: OperationName, { subject, stores, threads }: Prepared, signal: AbortSignal): Cell {
  let calls = 0;
  const next = () => threads[calls++ % threads.length] as Thread;
  switch (operation) {
    case "append":
      return appendCell(subject, stores, next, signal);
    case "append, trimming":
      return trimmingCell(subject, stores, next);
    case "newest 20":
      return {
        prepare() {
          const { store } = next();
          return () => store.listMessages({ limit: NEWEST });
        },
        times: [],
      };
    case "opening":
      return openingCell(subject, next);
  }
}

function appendCell(
  { length, keepsLength }: Subject,
  stores: StoreFactory,
  next: () => Thread,
  signal: AbortSignal,
): Cell {
  let thread: Thread | undefined;
  return {
    prepare() {
      const used = next();
      thread = used;
      const messages = messagesFrom(used.position++, 1);
      return () => used.store.addMessages(messages);
    },
    async finish() {
      if (!thread || !keepsLength || thread.position < 2 * length) return;
      thread.threadId += "+";
      thread.store = stores.open(thread.threadId);
      thread.position = length;
      await fillThread(stores, thread.threadId, length, signal);
    },
    times: [],
  };
}

/** Each append trims the oldest message, because the thread is at its `maxMessages`. */
function trimmingCell({ location, length }: Subject, stores: StoreFactory, next: () => Thread): Cell {
  const state = { type: "scrollback.store", version: 1, backend: location.backend, maxMessages: length };
  return {
    prepare() {
      const thread = next();
      const messages = messagesFrom(thread.position++, 1);
      const store = stores.restore({ ...state, threadId: thread.threadId });
      return () => store.addMessages(messages);
    },
    times: [],
  };
}

function openingCell({ location }: Subject, next: () => Thread): Cell {
  let connection: Connection | undefined;
  return {
    prepare() {
      const { threadId } = next();
      return () => {
        connection = connect(location);
        return connection.stores.open(threadId).listMessages({ limit: NEWEST });
      };
    },
    finish: async () => await connection?.close(),
    times: [],
  };
}
