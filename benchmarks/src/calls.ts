import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ChatMessage } from "@scrollback/store-core";
import type { Backend } from "./backend.ts";
import { type Call, type Contestant, MAX_MESSAGES, scrollback, type Thread } from "./contestant.ts";
import { type Cell, type Effort, measure, median } from "./measure.ts";
import { messagesFrom } from "./messages.ts";
import { type Row, type RowName, rounded } from "./results.ts";

export type ContestantName = "raw" | "ours" | "other";
export type Measured = Omit<Row, "machine">;

/** The messages of a measured thread. */
const LENGTH = 1_000;
/** As many commits as need every kind of request that an adapter sends now and then. */
const COUNTED_CALLS = 64;
const PAGE = 100;

/** A contestant with the thread that it reads and writes. */
export interface Entry {
  readonly name: ContestantName;
  readonly contestant: Contestant;
  readonly thread: Thread;
  readonly length: number;
  /** The position in the conversation of the next appended message. */
  position: number;
}

interface Operation {
  readonly name: RowName;
  readonly prepare: (entry: Entry) => Call;
  /** Whether a contestant takes part. Default: all do. */
  readonly applies?: (entry: Entry) => boolean;
}

const append = (name: RowName, count: number): Operation => ({
  name,
  prepare: (entry) => entry.thread.append(take(entry, count)),
});

/** In the order of measurement: threads are read while they still have their length. */
export const operations: readonly Operation[] = [
  { name: "newest 20", prepare: ({ thread }) => thread.newest(20) },
  { name: "all of 1,000", prepare: ({ thread }) => thread.all(), applies: ({ length }) => length === LENGTH },
  {
    name: "list 100 threads",
    prepare:
      ({ contestant }) =>
      async () =>
        strictEqual(await contestant.list?.(PAGE), PAGE),
    applies: ({ contestant }) => contestant.list !== undefined,
  },
  append("append 1", 1),
  append("append 20", 20),
];

/** Measures single calls of all contestants on threads of 1,000 messages, and on `threads` threads for the listing. */
export async function measureCalls(backend: Backend, effort: Effort, threads: number): Promise<Measured[]> {
  const entries = await entriesOf(backend);
  try {
    const ids = Array.from({ length: threads }, (_, index) => `thread-${String(index).padStart(6, "0")}`);
    for (const { contestant } of entries) await contestant.fillThreads?.(ids);
    const requests = await countRequests(backend);
    const rows: Measured[] = [];
    for (const { name, prepare, applies } of operations) {
      const used = entries.filter((entry) => applies?.(entry) ?? true);
      const cells = used.map((entry) => ({
        name: entry.name,
        times: [] as number[],
        prepare: () => prepare(entry),
      }));
      await measure(cells, effort);
      rows.push({ name, ...mediansOf(cells), ...(requests && { requests: requests.get(name) ?? 0 }) });
    }
    for (const entry of entries) await checkWritten(entry);
    return rows;
  } finally {
    for (const { contestant } of entries) await contestant.close();
  }
}

/** Opens every contestant with a filled thread. */
async function entriesOf({ definition, url }: Backend): Promise<Entry[]> {
  const opened: [ContestantName, Contestant | undefined][] = [
    ["raw", await definition.raw(url)],
    ["ours", scrollback(definition.stores(url, MAX_MESSAGES))],
    ["other", await definition.compared?.(url)],
  ];
  const entries: Entry[] = [];
  for (const [name, contestant] of opened) {
    if (!contestant) continue;
    const length = Math.min(LENGTH, contestant.longest ?? LENGTH);
    const threadId = randomUUID();
    await contestant.fill(threadId, messagesFrom(0, length));
    const entry = { name, contestant, length, thread: contestant.open(threadId), position: length };
    strictEqual((await entry.thread.all()()).length, length);
    entries.push(entry);
  }
  return entries;
}

/** The requests of ours for each call, on a thread that trims. Undefined without a network. */
async function countRequests({
  definition,
  counted,
}: Backend): Promise<ReadonlyMap<RowName, number> | undefined> {
  if (!counted) return undefined;
  const contestant = scrollback(definition.stores(counted.url, MAX_MESSAGES));
  const threadId = randomUUID();
  await contestant.fill(threadId, messagesFrom(0, MAX_MESSAGES));
  const entry: Entry = {
    name: "ours",
    contestant,
    length: LENGTH,
    thread: contestant.open(threadId),
    position: MAX_MESSAGES,
  };
  const counts = new Map<RowName, number>();
  for (const { name, prepare } of operations) {
    // The first call may send more than later ones.
    await prepare(entry)();
    const before = counted.requests();
    for (let call = 0; call < COUNTED_CALLS; call++) await prepare(entry)();
    counts.set(name, rounded((counted.requests() - before) / COUNTED_CALLS));
  }
  await contestant.close();
  return counts;
}

/** The medians of contestants, of which ours is always one. */
export function mediansOf(
  cells: readonly (Pick<Cell, "times"> & { readonly name: ContestantName })[],
): Pick<Row, ContestantName> {
  const medians: Partial<Record<ContestantName, number>> = {};
  for (const { name, times } of cells) medians[name] = rounded(median(times));
  const { ours, ...others } = medians;
  if (ours === undefined) throw new Error("ours was not measured");
  return { ...others, ours };
}

/** The next messages of the conversation for this thread. */
function take(entry: Entry, count: number): ChatMessage[] {
  const messages = messagesFrom(entry.position, count);
  entry.position += count;
  return messages;
}

/** Checks that all appends had their effect: the last message is the one written last. */
async function checkWritten(entry: Entry): Promise<void> {
  const answer: ChatMessage = { role: "assistant", content: `the last of ${randomUUID()}` };
  await entry.thread.append([answer])();
  const newest = await entry.thread.newest(20)();
  ok(JSON.stringify(newest.at(-1)).includes(String(answer.content)), `${entry.name} lost a message`);
  if (entry.name !== "ours") return;
  const expected = messagesFrom(entry.position - 19, 19);
  deepStrictEqual(newest, [...expected, answer]);
}
