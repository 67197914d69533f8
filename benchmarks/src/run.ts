import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ChatMessage } from "@scrollback/store-core";
import {
  type Backend,
  type Contestant,
  type ContestantName,
  contestantNames,
  type Thread,
} from "./backend.ts";
import { type Cell, type Effort, measure } from "./measure.ts";
import { messagesFrom } from "./messages.ts";
import { type Operation, operations, ROOM, threadLengths } from "./operations.ts";

/** What came out for one operation on threads of one length. */
export interface Row {
  readonly operation: Operation;
  readonly length: number;
  readonly results: Readonly<Partial<Record<ContestantName, Result>>>;
}

export interface Result {
  /** In milliseconds, one for each measured call. */
  readonly times: readonly number[];
  /** A call's. Absent where there is no network. */
  readonly roundTrips?: number;
}

/** A thread and who keeps it. */
interface Entry {
  readonly name: ContestantName;
  readonly contestant: Contestant;
  readonly length: number;
  readonly thread: Thread;
  /** The thread again, through the counted connection. */
  readonly counted: Thread | undefined;
  /** Where in the conversation what is appended next begins. */
  position: number;
}

const FILLED_AT_ONCE = 1_000;
/** A thread's end, as a conversation adds to it: backends that keep a commit in one piece read no more than they need. */
const ADDED_SINGLY = 60;
const COUNTED_CALLS = 2;

/** Measures one backend: fills the threads, reads, writes, and checks that all did what they were timed for. */
export async function run(
  backend: Backend,
  effort: Effort,
  { signal, report }: { signal: AbortSignal; report(progress: string): void },
): Promise<Row[]> {
  const entries: Entry[] = [];
  for (const length of threadLengths) {
    report(`filling threads of ${length.toLocaleString("en")}`);
    for (const name of contestantNames) {
      const entry = await makeEntry(backend, name, length, signal);
      if (entry) entries.push(entry);
    }
  }
  const rows: Row[] = [];
  for (const operation of operations) {
    report(`measuring ${operation.name}`);
    const measured = entries
      .filter(({ length }) => operation.lengths.includes(length))
      .map((entry) => ({ entry, cell: cellOf(operation, entry) }));
    await measure(
      measured.map(({ cell }) => cell),
      effort,
      signal,
    );
    for (const length of operation.lengths) {
      const results: Partial<Record<ContestantName, Result>> = {};
      for (const { entry, cell } of measured) {
        if (entry.length !== length) continue;
        const roundTrips = await countRoundTrips(backend, operation, entry);
        results[entry.name] = { times: cell.times, ...(roundTrips !== undefined && { roundTrips }) };
      }
      rows.push({ operation, length, results });
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

async function makeEntry(
  backend: Backend,
  name: ContestantName,
  length: number,
  signal: AbortSignal,
): Promise<Entry | undefined> {
  const contestant = backend.contestants[name];
  if (!contestant || length > (contestant.longest ?? Number.POSITIVE_INFINITY)) return undefined;
  const threadId = randomUUID();
  const singly = Math.min(length, ADDED_SINGLY);
  for (let from = 0; from < length - singly; from += FILLED_AT_ONCE) {
    signal.throwIfAborted();
    await contestant.fill(threadId, messagesFrom(from, Math.min(FILLED_AT_ONCE, length - singly - from)));
  }
  const thread = contestant.open(threadId, length + ROOM);
  for (const message of messagesFrom(length - singly, singly)) await thread.append([message])();
  const counted = backend.counted?.contestants[name]?.open(threadId, length + ROOM);
  const all = await thread.all()();
  strictEqual(all.length, length);
  const newest = contestant.expected(messagesFrom(Math.max(0, length - 20), Math.min(20, length)));
  deepStrictEqual(all.slice(-20), newest);
  deepStrictEqual(await thread.newest(20)(), newest);
  return { name, contestant, length, thread, counted, position: length };
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
  // The first call on a connection may have more to send than those that follow.
  await operation.prepare(counted, take(entry, operation.appended))();
  const before = backend.counted.roundTrips();
  for (let call = 0; call < COUNTED_CALLS; call++) {
    await operation.prepare(counted, take(entry, operation.appended))();
  }
  return (backend.counted.roundTrips() - before) / COUNTED_CALLS;
}
