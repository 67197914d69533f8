// Exceeds 300 lines because it is the table of all changes that the suite must detect.
import { type Change, postgresChanges } from "./postgres-changes.ts";

/** A change to the source that breaks a promise. */
export interface SourceMutant {
  readonly name: string;
  /** The clause whose tests must fail. */
  readonly breaks: string;
  /** The backend of the suite, see `backend.fixture.ts`. */
  readonly backend: "memory" | "loopback" | "documents" | "sqlite" | "redis" | "postgres";
  /** The path of the file in `packages/`. */
  readonly file: string;
  /** A fragment that occurs once in the file, and its replacement. */
  readonly from: string;
  readonly to: string;
}

const on = (
  backend: SourceMutant["backend"],
  folder: string,
  changes: readonly Change[],
): readonly SourceMutant[] =>
  changes.map(([name, breaks, file, from, to]) => ({ name, breaks, backend, file: folder + file, from, to }));

/** Each mutant changes one line, in all layers: the portable store, the drivers, documents, SQL and scripts. */
export const sourceMutants: readonly SourceMutant[] = [
  ...on("memory", "store-core/src/", [
    [
      "the store makes operation ids of its own",
      "C4",
      "store/portable-store.ts",
      "const operationId = options.operationId ?? details.operationId ?? randomUUID();",
      "const operationId = randomUUID();",
    ],
    [
      "pops without compare and set",
      "C5",
      "store/portable-store.ts",
      "const expectedRevision = found.revision;",
      "const expectedRevision = undefined;",
    ],
    [
      "reads do not honour a lower maxMessages",
      "C6",
      "store/portable-store.ts",
      "if (maxMessages === undefined || view.count <= maxMessages) return view;",
      "if (view) return view;",
    ],
    [
      "cursors are off by one",
      "C7",
      "driver/revision.ts",
      "sequence: number): Cursor {",
      "sequence: number): Cursor { sequence += 1;",
    ],
    [
      "a batch may be of any size",
      "C12",
      "store/portable-store.ts",
      "if (total > maxCommitBytes)",
      "if (total < 0)",
    ],
    [
      "closed factories continue",
      "C14",
      "store/store-context.ts",
      "if (this.#shared.closing) throw closedError();",
      "if (!this) throw closedError();",
    ],
    ["signals are ignored", "C15", "retry.ts", "if (!signal) return", "if (signal !== null) return"],
    [
      "messages of any kind are read",
      "C16",
      "codec/record.ts",
      "if (!(MESSAGE_KINDS",
      "if (false && !(MESSAGE_KINDS",
    ],
    [
      "corrupt records are reported and thrown",
      "C16",
      "store/store-context.ts",
      "    onCorruptRecord(error);",
      "    onCorruptRecord(error); throw error;",
    ],
    [
      "states of other backends are taken",
      "C10",
      "store/state.ts",
      "if (fields.backend !== backend) {",
      "if (fields === undefined) {",
    ],
    [
      "lone surrogates are lost",
      "C8",
      "codec/codec.ts",
      "return JSON.stringify(plain);",
      'return JSON.stringify(plain).replaceAll(/\\\\ud[89a-f]../gi, "?");',
    ],
    [
      "exact trimming keeps one message too many",
      "C6",
      "trimming/trimming.ts",
      "const start = isPinned ? first : next - maxMessages;",
      "const start = isPinned ? first : next - maxMessages - 1;",
    ],
    [
      "turns start at an answer",
      "C6",
      "trimming/trimming.ts",
      'kindAt(userless) !== "u"',
      'kindAt(userless) !== "o"',
    ],
    [
      "dropped messages count as searched",
      "C6",
      "trimming/trimming.ts",
      "userless: Math.min(search.userless, kept.next)",
      "userless: search.userless",
    ],
    [
      "a step is cut behind a call",
      "C6",
      "trimming/trimming.ts",
      'kind === "c" || kind === "b"',
      'kind === "b"',
    ],
    [
      "a result is kept without its call",
      "C6",
      "trimming/trimming.ts",
      "const start = bearsResult(newest) || isContinued(newest) ? next : next - 1;",
      "const start = cut;",
    ],
    [
      "the newest compaction item is trimmed",
      "C6",
      "trimming/trimming.ts",
      "const isPinned = newestCompaction > 0 && newestCompaction < found.start;",
      "const isPinned = newestCompaction > found.start;",
    ],
    [
      "an older compaction item stays after the newest was dropped",
      "C6",
      "trimming/trimming.ts",
      "const oldest = isKept ? kept.next : kept.first;",
      "const oldest = kept.next;",
    ],
    [
      "clear keeps the metadata",
      "C18",
      "memory/memory-driver.ts",
      "thread.metadata = request.metadata ?? undefined;",
      "thread.metadata = request.metadata ?? thread.metadata;",
    ],
    [
      "63 operation ids are remembered",
      "C4",
      "memory/memory-driver.ts",
      "if (operations.size <= REMEMBERED_OPERATIONS || operation.at > at - REMEMBERED_MS) break;",
      "if (operations.size < REMEMBERED_OPERATIONS) break;",
    ],
    [
      "ttlMs is treated as microseconds",
      "C11",
      "memory/memory-driver.ts",
      "undefined : at + request.ttlMs;",
      "undefined : at + request.ttlMs / 1_000;",
    ],
    [
      "a batch is inserted before existing messages",
      "C1",
      "memory/memory-driver.ts",
      "entries.push({ sequence,",
      "entries.unshift({ sequence,",
    ],
  ]),
  ...on("loopback", "store-core/src/", [
    [
      "an error is an empty list",
      "C13",
      "store/portable-store.ts",
      "const view = await this.#read(threadId, range, signal, call);\n      return this.#decode(",
      "const view = await this.#read(threadId, range, signal, call).catch(() => ({ revision: null, count: 0, first: 0, last: 0, entries: [] }));\n      return this.#decode(",
    ],
    [
      "failed calls are not retried",
      "C4",
      "retry.ts",
      "clock.monotonic() >= end) return false;",
      "true) return false;",
    ],
  ]),
  ...on("documents", "documents/src/", [
    [
      "operation ids are not looked up in the head",
      "C4",
      "rules/draft.ts",
      "if (known) {",
      "if (known && !known.isSame) {",
    ],
    [
      "few operation ids are remembered",
      "C4",
      "rules/operations.ts",
      "const newest = all.length - REMEMBERED_OPERATIONS * SIZE;",
      "const newest = all.length - 9 * SIZE;",
    ],
    [
      "a page that overflows loses its first message",
      "C1",
      "rules/draft.ts",
      "const { entries } = this.#layOut(tail.slice(0, start));",
      "const { entries } = this.#layOut(tail.slice(1, start));",
    ],
    [
      "expired threads are read",
      "C11",
      "rules/times.ts",
      "&& !(head.expiresAt !== undefined && now >= head.expiresAt);",
      "&& !(head.expiresAt !== undefined && now < 0);",
    ],
    [
      "trimmed messages stay in their page",
      "C6",
      "rules/draft.ts",
      "if (pages.some(isDue)) this.#rewrite(isDue);",
      "",
    ],
    [
      "the parts of a text are joined in reverse",
      "C12",
      "rules/pages.ts",
      'text: pages.map(({ messages }) => messages[0]?.text ?? "").join("")',
      'text: pages.map(({ messages }) => messages[0]?.text ?? "").reverse().join("")',
    ],
  ]),
  ...on("sqlite", "store-sqlite/src/", [
    [
      "the newest message comes first",
      "C1",
      "statements.ts",
      "sequence < ? ORDER BY sequence`",
      "sequence < ? ORDER BY sequence DESC`",
    ],
    [
      "an expired thread is read until it is swept",
      "C11",
      "read.ts",
      "liveThread(statements.findThread(toStored(request.threadId)), Date.now())",
      "liveThread(statements.findThread(toStored(request.threadId)), 0)",
    ],
    [
      "a thread's updatedAt is that of its first commit",
      "C19",
      "statements.ts",
      "t.created_at, c.updated_at, t.expires_at, c.pinned",
      "t.created_at, t.created_at, t.expires_at, c.pinned",
    ],
    [
      "a page of a listing starts with the last thread of the previous page",
      "C20",
      "rows-by-prefix.ts",
      "const except = after === undefined ? null : toStored(after);",
      "const except = null;",
    ],
    [
      "ids with a NUL character are not listed",
      "C20",
      "rows-by-prefix.ts",
      "return [...rows, ...selectOfType(firstBytes, limit - rows.length)];",
      "return isAmongBytes ? selectOfType(firstBytes, limit) : rows;",
    ],
    [
      "a deletion ignores its expected revision",
      "C21",
      "remove.ts",
      "if (expectedRevision !== revision) return",
      "if (expectedRevision === null && revision !== null) return",
    ],
    ["a deletion leaves the metadata", "C21", "remove.ts", "  statements.deleteMetadata(key);\n", ""],
    [
      "metadata is never removed",
      "C18",
      "commit.ts",
      "if (metadata === null) statements.deleteMetadata(key);",
      "if (metadata === null) statements.deleteMetadata(-1);",
    ],
    [
      "trimmed rows are kept",
      "C6",
      "commit.ts",
      "statements.deleteMessages(key, from, to);",
      "statements.deleteMessages(key, from, from);",
    ],
    [
      "any revision matches the expected one",
      "C5",
      "commit.ts",
      "request.expectedRevision !== undefined && request.expectedRevision !== revision",
      "request.expectedRevision === null && revision !== null",
    ],
  ]),
  ...on("redis", "store-redis/", [
    [
      "ttlMs is treated as seconds",
      "C11",
      "lua/commit.lua",
      "milliseconds() + ttl",
      "milliseconds() + ttl * 1000",
    ],
    [
      "a thread's times are those of its newest commit",
      "C19",
      "lua/commit.lua",
      "startless, createdAt, string.match(updatedAt, '^%d+')",
      "startless, string.match(updatedAt, '^%d+'), string.match(updatedAt, '^%d+')",
    ],
    [
      "a prefix is treated as a pattern",
      "C20",
      "src/keys.ts",
      'start.replace(/[\\\\*?[\\]]/g, "\\\\$&")',
      "start",
    ],
    [
      "threads that do not fit on a page are not listed",
      "C20",
      "src/scan.ts",
      "if (rest.length > 0 && this.#page.room() <= 0 && mark !== undefined)",
      "if (mark === undefined)",
    ],
    [
      "a commit retried after a deletion is applied again",
      "C21",
      "lua/commit.lua",
      "if wasDeleted then",
      "if false then",
    ],
    ["a retried deletion deletes again", "C21", "lua/delete.lua", "if known and", "if false and"],
    [
      "a deletion leaves the metadata",
      "C21",
      "lua/delete.lua",
      "call('HDEL', DELETED, 'metadata', 'marks', 'cursor')",
      "call('HDEL', DELETED, 'marks', 'cursor')",
    ],
    [
      "trimming is off by one",
      "C6",
      "lua/commit.lua",
      "call('LTRIM', MESSAGES, first - listed, kept",
      "call('LTRIM', MESSAGES, first - listed + 1, kept",
    ],
    ["metadata is never removed", "C18", "lua/commit.lua", "if metadata == 'remove' then", "if false then"],
    [
      "any revision matches the expected one",
      "C5",
      "lua/commit.lua",
      "if expected ~= 'any' and",
      "if false and",
    ],
    [
      "ten operation ids are remembered",
      "C4",
      "lua/commit.lua",
      "math.min(old, commit - REMEMBERED_OPERATIONS)",
      "commit - 10",
    ],
    [
      "colons are omitted from keys",
      "C9",
      "src/keys.ts",
      "return text.replace(/[%{}]/g, encodeURIComponent);",
      'return text.replace(/[%{}]/g, encodeURIComponent).replaceAll(":", "");',
    ],
  ]),
  ...on("postgres", "store-postgres/", postgresChanges),
];

/** Makes the change of a mutant. @throws Error if the source does not contain its text exactly once. */
export function mutated(source: string, { file, from, to }: SourceMutant): string {
  if (source.split(from).length !== 2) throw new Error(`${file} has no such text, or several: ${from}`);
  return source.replace(from, () => to);
}

/** The name of a mutant in a report. */
export const titleOf = ({ backend, name }: SourceMutant) => `${backend}: ${name}`;
