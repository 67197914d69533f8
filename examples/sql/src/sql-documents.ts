import {
  type DocumentCapabilities,
  type DocumentDatabase,
  DocumentJson,
  type HeadListing,
  type HeadsRequest,
  type LoadedHead,
  type Page,
  type Swap,
  tokenOf,
} from "@scrollback/documents";
import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";
import { isBusy, type SqlClient } from "./client.ts";
import { boundsOf, SqlEntries, toBytes, toText } from "./entries.ts";

const definitions = [
  "PRAGMA journal_mode = WAL",
  `CREATE TABLE IF NOT EXISTS heads (
  thread BLOB PRIMARY KEY, token TEXT NOT NULL, head TEXT NOT NULL, tail TEXT NOT NULL, until INTEGER)`,
  `CREATE TABLE IF NOT EXISTS pages (
  thread BLOB, id TEXT, messages TEXT NOT NULL, until INTEGER, PRIMARY KEY (thread, id))`,
  `CREATE TABLE IF NOT EXISTS entries (
  name BLOB, key BLOB, id BLOB, sort TEXT NOT NULL, version INTEGER NOT NULL, value TEXT NOT NULL,
  expires INTEGER, found INTEGER, PRIMARY KEY (name, key, id))`,
  "CREATE INDEX IF NOT EXISTS entries_by_order ON entries (name, sort)",
];

const { permanent, retryable } = errorTable("sql");

/** Threads as documents in SQLite. The statements are those of any database with ON CONFLICT and RETURNING. */
export class SqlDocuments implements DocumentDatabase {
  readonly capabilities: DocumentCapabilities = Object.freeze({
    backend: "sql",
    sharing: "machine",
    maxDocumentBytes: 1024 ** 2,
  });
  readonly index: SqlEntries;
  readonly #client: SqlClient;

  constructor(client: SqlClient) {
    this.#client = client;
    this.index = new SqlEntries(this.#client);
  }

  async load(threadId: string): Promise<LoadedHead | null> {
    const sql = "SELECT token, head, tail FROM heads WHERE thread = ?";
    const [row] = await this.#client.run(sql, [toBytes(threadId)]);
    if (!row) return null;
    const [token, json, tail] = [String(row.token), String(row.head), String(row.tail)];
    const head = DocumentJson.toHead(json, { token, tail });
    return { token: head ? token : json, head };
  }

  /** The token of a damaged head is its own text. */
  async swap({ threadId, expected, head }: Swap): Promise<boolean> {
    const fields = [
      tokenOf(head),
      DocumentJson.fromHead(head),
      DocumentJson.fromMessages(head.tail),
      head.until ?? null,
    ];
    const sql = expected
      ? "UPDATE heads SET token = ?, head = ?, tail = ?, until = ? WHERE thread = ? AND ? IN (token, head) RETURNING 1"
      : "INSERT INTO heads (token, head, tail, until, thread) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1";
    const condition = [toBytes(threadId), ...(expected ? [expected.token] : [])];
    return (await this.#client.run(sql, [...fields, ...condition])).length === 1;
  }

  async write(threadId: string, pages: readonly Page[]): Promise<void> {
    const rows = pages.map(({ id, messages, until }) => [
      ...[toBytes(threadId), id, DocumentJson.fromMessages(messages), until ?? null],
    ]);
    const values = rows.map(() => "(?, ?, ?, ?)").join(", ");
    const sql = `INSERT INTO pages (thread, id, messages, until) VALUES ${values} ON CONFLICT DO NOTHING`;
    await this.#client.run(sql, rows.flat());
  }

  async read(threadId: string, ids: readonly string[]): Promise<Page[]> {
    const rows = await this.#ofPages("SELECT id, messages, until FROM pages", threadId, ids);
    return rows.map(({ id, messages, until }) => ({
      id: String(id),
      messages: DocumentJson.toMessages(String(messages)),
      ...(until !== null && { until: Number(until) }),
    }));
  }

  /** `until` is NULL for never. A comparison with NULL is never true. */
  async raise(threadId: string, ids: readonly string[], until: number | undefined): Promise<void> {
    const change = until === undefined ? "NULL" : `CASE WHEN until < ${until} THEN ${until} ELSE until END`;
    await this.#ofPages(`UPDATE pages SET until = ${change}`, threadId, ids);
  }

  async remove(threadId: string, ids: readonly string[]): Promise<void> {
    await this.#ofPages("DELETE FROM pages", threadId, ids);
  }

  async keys(threadId: string): Promise<string[]> {
    const rows = await this.#client.run("SELECT id FROM pages WHERE thread = ?", [toBytes(threadId)]);
    return rows.map(({ id }) => String(id));
  }

  async list({ prefix, limit, after = "" }: HeadsRequest): Promise<HeadListing> {
    const rows = await this.#client.run(
      "SELECT thread, head FROM heads WHERE thread >= ? AND thread < ? AND thread > ? ORDER BY thread LIMIT ?",
      [...boundsOf(prefix), toBytes(after), limit + 1],
    );
    const heads = rows.slice(0, limit).map(({ thread, head }) => ({
      threadId: toText(thread),
      head: DocumentJson.toHead(String(head)),
    }));
    const next = rows.length > limit ? heads.at(-1)?.threadId : undefined;
    return { heads, ...(next !== undefined && { next }) };
  }

  async setup(): Promise<void> {
    for (const sql of definitions) await this.#client.run(sql);
  }

  /** Deletes what expired. To be called once an hour or a day. */
  async sweep(): Promise<void> {
    for (const expired of ["heads WHERE until", "pages WHERE until", "entries WHERE expires"])
      await this.#client.run(`DELETE FROM ${expired} < ?`, [Date.now()]);
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    if (isBusy(error)) return retryable("the file stayed locked for 4 seconds; look for a long transaction");
    if (!(error instanceof Error)) return undefined;
    if (/no such table/.test(error.message))
      return { ...permanent("a table does not exist; run setup()"), isMissing: true };
    return /unable to open|readonly|full/.test(error.message)
      ? permanent("the file cannot be opened or written; see cause")
      : undefined;
  }

  #ofPages(sql: string, threadId: string, ids: readonly string[]) {
    const where = `WHERE thread = ? AND id IN (${ids.map(() => "?").join(", ")})`;
    return this.#client.run(`${sql} ${where}`, [toBytes(threadId), ...ids]);
  }
}
