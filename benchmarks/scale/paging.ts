import { fork } from "node:child_process";
import { once } from "node:events";
import type { Location } from "./connect.ts";

/** What the process that pages is told. */
export interface PagingJob {
  readonly location: Location;
  readonly threadId: string;
  /** How many messages the thread has. */
  readonly length: number;
  readonly pageSize: number;
}

/** The process's memory after a collection of its garbage. */
export interface MemorySample {
  /** How many pages had been read, from 1. */
  readonly page: number;
  readonly heapBytes: number;
  readonly rssBytes: number;
}

/** What paging through a thread from its end to its beginning took. */
export interface Paging {
  readonly messages: number;
  readonly pageSize: number;
  readonly pages: number;
  readonly samples: readonly MemorySample[];
  /** The median of a page in milliseconds, of the tenth of the pages that was read first, and of that read last. */
  readonly firstTenthMs: number;
  readonly lastTenthMs: number;
}

/** From this page on memory is looked at: by then everything has been used that is used. */
export const FIRST_SAMPLE = 10;

/** Pages through a thread in a process of its own, which holds nothing but what paging needs. */
export async function pageThrough(job: PagingJob, signal: AbortSignal): Promise<Paging> {
  const child = fork(new URL("./paging-process.ts", import.meta.url), [JSON.stringify(job)], {
    execArgv: ["--expose-gc"],
    signal,
  });
  const received = once(child, "message").then(([paging]) => paging as Paging);
  const ended = once(child, "exit").then(([code]) => {
    if (code !== 0) throw new Error(`the process that pages ended with ${code}`);
  });
  const [paging] = await Promise.all([received, ended]);
  return paging;
}

/** By how much heap and resident memory grew from the first sample to the last, in bytes. */
export function growthOf({ samples }: Paging): { heapBytes: number; rssBytes: number } {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last) throw new RangeError("no samples of memory");
  return { heapBytes: last.heapBytes - first.heapBytes, rssBytes: last.rssBytes - first.rssBytes };
}
