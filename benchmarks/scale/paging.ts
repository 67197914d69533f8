import { fork } from "node:child_process";
import { once } from "node:events";
import type { Location } from "./connect.ts";

/** The job of the process that reads the pages. */
export interface PagingJob {
  readonly location: Location;
  readonly threadId: string;
  /** The number of messages of the thread. */
  readonly length: number;
  readonly pageSize: number;
}

/** The process's memory after a garbage collection. */
export interface MemorySample {
  /** The number of pages read so far, at least 1. */
  readonly page: number;
  readonly heapBytes: number;
  readonly rssBytes: number;
}

/** The cost of paging through a thread from its end to its beginning. */
export interface Paging {
  readonly messages: number;
  readonly pageSize: number;
  readonly pages: number;
  readonly samples: readonly MemorySample[];
  /** The median time of a page in milliseconds, for the first tenth of the pages and for the last tenth. */
  readonly firstTenthMs: number;
  readonly lastTenthMs: number;
}

/** Memory is sampled from this page on: by then all code and caches are in use. */
export const FIRST_SAMPLE = 10;

/** Pages through a thread in a separate process that holds only what paging needs. */
export async function pageThrough(job: PagingJob, signal: AbortSignal): Promise<Paging> {
  const child = fork(new URL("./paging-process.ts", import.meta.url), [JSON.stringify(job)], {
    execArgv: ["--expose-gc"],
    signal,
  });
  const received = once(child, "message").then(([paging]) => paging as Paging);
  const ended = once(child, "exit").then(([code]) => {
    if (code !== 0) throw new Error(`the paging process ended with ${code}`);
  });
  const [paging] = await Promise.all([received, ended]);
  return paging;
}

/** The growth of the heap and of the resident memory from the first sample to the last, in bytes. */
export function growthOf({ samples }: Paging): { heapBytes: number; rssBytes: number } {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last) throw new RangeError("no samples of memory");
  return { heapBytes: last.heapBytes - first.heapBytes, rssBytes: last.rssBytes - first.rssBytes };
}
