import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChatMessage } from "@scrollback/store-core";
import {
  type Backend,
  type Contestant,
  type ContestantName,
  contestantNames,
  type Thread,
} from "./backend.ts";
import { type CallRow, timingOf } from "./figures.ts";
import { type Cell, type Effort, measure } from "./measure.ts";
import { messagesFrom } from "./messages.ts";
import { type Operation, operations, ROOM } from "./operations.ts";

/** After this time a record log no longer expects other writers; see "Costs" of docs/explanation/record-log.md. */
const OTHER_WRITERS_MS = 6_000;

/** A thread and its contestant. */
interface Entry {
  readonly name: ContestantName;
  readonly contestant: Contestant;
  readonly length: number;
  readonly thread: Thread;
  /** The same thread through the counted connection. */
  readonly counted: Thread | undefined;
  /** The position in the conversation of the next appended message. */
  position: number;
}

export interface Progress {
  readonly signal: AbortSignal;
  report(progress: string): void;
}

/** Longer threads take minutes to read, so only their end is checked. */
const READ_WHOLE = 10_000;
/** The number of calls to count. One in 32 commits of Scrollback may take one more request, so 32 are counted. */
const countedCalls = ({ name }: Entry, { kind }: Operation) =>
  name === "Scrollback" && kind === "commit" ? 32 : 2;

/** Measures single calls: fills the threads, reads, writes, and checks that all calls had their effect. */
export async function measureCalls(
  backend: Backend,
  lengths: readonly number[],
  effort: Effort,
  { signal, report }: Progress,
): Promise<CallRow[]> {
  await using contestants = await connectAll(backend, backend.location.url);
  await using counted = await connectAll(backend, backend.counted?.url);
  const entries: Entry[] = [];
  for (const length of lengths) {
    report(`filling threads of ${length.toLocaleString("en")}`);
    for (const [name, contestant] of contestants.all) {
      signal.throwIfAborted();
      if (length > (contestant.longest ?? Number.POSITIVE_INFINITY)) continue;
      entries.push(await makeEntry(name, contestant, counted.all.get(name), length));
    }
  }
  const rows: CallRow[] = [];
  for (const operation of operations) {
    report(`measuring ${operation.name}`);
    const measuredLengths = lengths.filter((length) => operation.lengths?.includes(length) ?? true);
    const measured = entries
      .filter(({ length }) => measuredLengths.includes(length))
      .map((entry) => ({ entry, cell: cellOf(operation, entry) }));
    await measure(
      measured.map(({ cell }) => cell),
      effort,
      signal,
    );
    for (const length of measuredLengths) {
      const results: Record<string, CallRow["results"][ContestantName]> = {};
      for (const { entry, cell } of measured) {
        if (entry.length !== length) continue;
        const roundTrips = await countRoundTrips(backend, operation, entry);
        results[entry.name] = { ...timingOf(cell.times), ...(roundTrips !== undefined && { roundTrips }) };
      }
      rows.push({ operation: operation.name, kind: operation.kind, length, results });
    }
  }
  report("checking what was written");
  for (const entry of entries) {
    const last = take(entry, 20);
    await entry.thread.append(last)();
    deepStrictEqual(await entry.thread.newest(20)(), entry.contestant.expected(last));
  }
  return rows;
}

interface Contestants extends AsyncDisposable {
  readonly all: ReadonlyMap<ContestantName, Contestant>;
}

/** Every contestant on a separate connection; none without a URL. */
async function connectAll({ connect }: Backend, url: string | undefined): Promise<Contestants> {
  const all = new Map<ContestantName, Contestant>();
  for (const name of contestantNames) {
    const contestant = url === undefined ? undefined : await connect[name]?.(url);
    if (contestant) all.set(name, contestant);
  }
  return {
    all,
    async [Symbol.asyncDispose]() {
      for (const contestant of all.values()) await contestant.close();
    },
  };
}

async function makeEntry(
  name: ContestantName,
  contestant: Contestant,
  counted: Contestant | undefined,
  length: number,
): Promise<Entry> {
  const threadId = randomUUID();
  await contestant.fill(threadId, messagesFrom(0, length));
  const thread = contestant.open(threadId, length + ROOM);
  const newest = contestant.expected(messagesFrom(Math.max(0, length - 20), Math.min(20, length)));
  if (length <= READ_WHOLE) {
    const all = await thread.all()();
    strictEqual(all.length, length);
    deepStrictEqual(all.slice(-20), newest);
  }
  deepStrictEqual(await thread.newest(20)(), newest);
  return {
    name,
    contestant,
    length,
    thread,
    counted: counted?.open(threadId, length + ROOM),
    position: length,
  };
}

function cellOf(operation: Operation, entry: Entry): Cell {
  return { prepare: () => operation.prepare(entry.thread, take(entry, operation.appended)), times: [] };
}

/** The next messages of the conversation for this thread. */
function take(entry: Entry, count: number): ChatMessage[] {
  const messages = messagesFrom(entry.position, count);
  entry.position += count;
  return messages;
}

async function countRoundTrips(
  backend: Backend,
  operation: Operation,
  entry: Entry,
): Promise<number | undefined> {
  const { counted } = entry;
  if (!backend.counted || !counted) return undefined;
  // The first call on a connection may send more than later calls.
  await operation.prepare(counted, take(entry, operation.appended))();
  // A record log treats the writer of the timed calls as another process that still writes. The counted calls are of one writer.
  if (entry.name === "Scrollback" && operation.kind === "commit") await sleep(OTHER_WRITERS_MS);
  const before = backend.counted.roundTrips();
  const calls = countedCalls(entry, operation);
  for (let call = 0; call < calls; call++) {
    await operation.prepare(counted, take(entry, operation.appended))();
  }
  return (backend.counted.roundTrips() - before) / calls;
}
