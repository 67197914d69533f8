import { tracingChannel } from "node:diagnostics_channel";
import type { StoreFactory, StoreIndex } from "@scrollback/store-core";

/** Numbers of requests of stores. */
export interface Requests {
  commits: number;
  reads: number;
}

/** Counts the commits and reads of stores during the work, without those of its background work. */
export async function countKinds(work: () => Promise<unknown>): Promise<Requests> {
  const count: Requests = { commits: 0, reads: 0 };
  const onCommit = () => {
    count.commits += 1;
  };
  const onRead = () => {
    count.reads += 1;
  };
  const commits = tracingChannel("scrollback:commit").start;
  const reads = tracingChannel("scrollback:read").start;
  commits.subscribe(onCommit);
  reads.subscribe(onRead);
  try {
    await work();
    return { ...count };
  } finally {
    commits.unsubscribe(onCommit);
    reads.unsubscribe(onRead);
  }
}

/** The requests to indexes so far, of all {@link withCountedIndexes}. */
let indexRequests = 0;

/** Stores for a layer, whose requests to indexes are counted: no channel publishes them. */
export function withCountedIndexes(stores: StoreFactory): Pick<StoreFactory, "settings" | "withTraits"> {
  return {
    settings: stores.settings,
    withTraits(traits) {
      const made = stores.withTraits(traits);
      return { ...made, index: (name) => counted(made.index(name)) };
    },
  };
}

function counted(index: StoreIndex): StoreIndex {
  const counting =
    <A extends unknown[], R>(request: (...values: A) => R) =>
    (...values: A): R => {
      indexRequests += 1;
      return request(...values);
    };
  return {
    ...index,
    insert: counting(index.insert),
    update: counting(index.update),
    remove: counting(index.remove),
    entriesOf: counting(index.entriesOf),
    list: counting(index.list),
  };
}

/** The total of commits, reads, and requests to indexes during the work. */
export async function countRequests(work: () => Promise<unknown>): Promise<number> {
  const before = indexRequests;
  const { commits, reads } = await countKinds(work);
  return commits + reads + indexRequests - before;
}
