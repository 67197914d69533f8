import { strictEqual } from "node:assert/strict";
import type { Backend } from "./backend.ts";
import { scrollback } from "./contestant.ts";
import { type Effort, measure, median } from "./measure.ts";
import { messagesFrom } from "./messages.ts";
import { rounded, type ScaleRow } from "./results.ts";

const PAGE = 100;

/**
 * Measures ours as a thread and a database grow. Threads of all lengths are measured in turn, without `maxMessages`. The listing
 * is measured each time when the database has grown to the next number of threads.
 */
export async function measureScale(
  { definition, url }: Backend,
  effort: Effort,
  lengths: readonly number[],
  counts: readonly number[],
): Promise<ScaleRow[]> {
  const contestant = scrollback(definition.stores(url, undefined));
  const threads = [];
  for (const size of lengths) {
    const threadId = `long-${size}`;
    await contestant.fill(threadId, messagesFrom(0, size));
    threads.push({ size, thread: contestant.open(threadId) });
  }
  const rows: ScaleRow[] = [];
  for (const operation of ["newest 20", "append 1"] as const) {
    const cells = threads.map(({ size, thread }) => ({
      size,
      times: [] as number[],
      prepare: () => (operation === "append 1" ? thread.append(messagesFrom(size, 1)) : thread.newest(20)),
    }));
    await measure(cells, effort);
    rows.push({ operation, points: cells.map(({ size, times }) => ({ size, ms: rounded(median(times)) })) });
  }
  const points: { size: number; ms: number }[] = [];
  let made = threads.length;
  for (const size of counts) {
    const ids = Array.from({ length: size - made }, (_, index) => `thread-${made + index}`);
    await contestant.fillThreads?.(ids);
    made = size;
    const cell = {
      times: [] as number[],
      prepare: () => async () => strictEqual(await contestant.list?.(PAGE), PAGE),
    };
    await measure([cell], effort);
    points.push({ size, ms: rounded(median(cell.times)) });
  }
  await contestant.close();
  return [...rows.reverse(), { operation: "list 100 threads", points }];
}
