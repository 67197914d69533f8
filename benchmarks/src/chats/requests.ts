import { tracingChannel } from "node:diagnostics_channel";

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

/** The total of commits and reads during the work. */
export async function countRequests(work: () => Promise<unknown>): Promise<number> {
  const { commits, reads } = await countKinds(work);
  return commits + reads;
}
