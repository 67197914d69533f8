/** Started by `paging.ts`: reads a thread page by page to its beginning, and sends the measurements. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { messagesFrom } from "../src/messages.ts";
import { median } from "../src/statistics.ts";
import { connect } from "./connect.ts";
import { FIRST_SAMPLE, type MemorySample, type Paging, type PagingJob } from "./paging.ts";

/** The approximate number of samples. */
const SAMPLES = 40;

const { location, threadId, length, pageSize }: PagingJob = JSON.parse(process.argv[2] ?? "");
const connection = connect(location);
const store = connection.stores.open(threadId);
const pages = Math.ceil(length / pageSize);
const samples: MemorySample[] = [];
const times: number[] = [];
const every = Math.max(1, Math.round(pages / SAMPLES));

let before: string | undefined;
let left = length;
for (let page = 1; page <= pages; page++) {
  const begin = performance.now();
  const { entries, older } = await store.read({ limit: pageSize, ...(before !== undefined && { before }) });
  times.push(performance.now() - begin);
  left -= entries.length;
  // A missing, duplicated or misplaced message would make the page differ.
  deepStrictEqual(
    entries.map(({ message }) => message),
    messagesFrom(left, entries.length),
  );
  before = older;
  const isDue = page === FIRST_SAMPLE || page === pages || (page > FIRST_SAMPLE && page % every === 0);
  if (isDue) samples.push(sample(page));
}
strictEqual(left, 0);
strictEqual(before, undefined);
await connection.close();

const tenth = Math.ceil(pages / 10);
const paging: Paging = {
  messages: length,
  pageSize,
  pages,
  samples,
  firstTenthMs: median(times.slice(0, tenth)),
  lastTenthMs: median(times.slice(-tenth)),
};
process.send?.(paging, () => process.disconnect?.());

function sample(page: number): MemorySample {
  if (!globalThis.gc) throw new Error("node must run with --expose-gc");
  globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  return { page, heapBytes: heapUsed, rssBytes: rss };
}
