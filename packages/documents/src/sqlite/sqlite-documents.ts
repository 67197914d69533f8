import { type DriverTarget, type ErrorClassification, errorTable } from "@scrollback/store-core/driver";
import {
  type DocumentCapabilities,
  type DocumentDatabase,
  type HeadListing,
  type HeadsRequest,
  type LoadedHead,
  type Page,
  type Swap,
  tokenOf,
} from "../database.ts";
import { DocumentJson } from "../json.ts";
import type { SqliteClient, SqliteRow, SqliteStatement } from "./client.ts";
import { checks, definitions } from "./schema.ts";
import { SqliteEntries } from "./sqlite-entries.ts";
import { boundsOf, fromStored, namesBetween, toStored } from "./text.ts";

/** A row of Cloudflare's databases has at most 2 MB, and JSON of the default codec has at most two bytes for one. */
const MAX_DOCUMENT_BYTES = 512 * 1024;
/** The characters of the texts in a batch of pages, which may end with one page more. */
const MAX_BATCH = 4 * 1024 ** 2;
/** The number of pages that a batch reads: with large messages, of 512 KiB each. */
const MAX_READ = 32;
/** The number of heads on a page of a listing: with large metadata, of 50 KiB each. */
const MAX_LISTED = 200;
/** The number of expired heads, and of pages, that a swap deletes. */
const SWEPT = 100;

/** Threads as documents in SQLite: tables of heads, pages and entries, see `schema.ts`. Each verb is one batch, but those of many pages. */
export class SqliteDocuments implements DocumentDatabase {
  readonly capabilities: DocumentCapabilities;
  readonly target: DriverTarget | undefined;
  readonly index: SqliteEntries;
  readonly #client: SqliteClient;
  readonly #prefix: string;

  /** @param tablePrefix the beginning of the tables' names: letters of ASCII, digits and `_`, no digit first. */
  constructor(client: SqliteClient, tablePrefix: string) {
    this.capabilities = Object.freeze({ ...client.capabilities, maxDocumentBytes: MAX_DOCUMENT_BYTES });
    this.target = client.target;
    this.index = new SqliteEntries(client, `${tablePrefix}entries`);
    this.#client = client;
    this.#prefix = tablePrefix;
  }

  async load(threadId: string): Promise<LoadedHead | null> {
    const sql = `SELECT token, head, tail FROM ${this.#prefix}heads WHERE thread = ?`;
    const [row] = await this.#run(sql, toStored(threadId));
    if (!row) return null;
    const [token, json, tail] = [String(row.token), String(row.head), String(row.tail)];
    const head = DocumentJson.toHead(json, { token, tail });
    return { token: head ? token : json, head };
  }

  /** The token of a damaged head is its own text. */
  async swap({ threadId, expected, head }: Swap): Promise<boolean> {
    const table = `${this.#prefix}heads`;
    const sql = expected
      ? `UPDATE ${table} SET token = ?, head = ?, tail = ?, until = ? WHERE thread = ? AND ? IN (token, head) RETURNING 1`
      : `INSERT INTO ${table} (token, head, tail, until, thread) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1`;
    const parameters = [
      tokenOf(head),
      DocumentJson.fromHead(head),
      DocumentJson.fromMessages(head.tail),
      head.until ?? null,
      toStored(threadId),
      ...(expected ? [expected.token] : []),
    ];
    const [rows] = await this.#client.batch([
      { sql, parameters },
      this.#sweep("heads"),
      this.#sweep("pages"),
    ]);
    return rows?.length === 1;
  }

  async write(threadId: string, pages: readonly Page[]): Promise<void> {
    const sql = `INSERT INTO ${this.#prefix}pages (thread, id, until, messages) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`;
    let length = 0;
    const batches = Map.groupBy(pages, ({ messages }) => {
      length += messages.reduce((sum, { text }) => sum + text.length, 0);
      return Math.floor(length / MAX_BATCH);
    });
    for (const batch of batches.values())
      await this.#client.batch(
        batch.map(({ id, until, messages }) => ({
          sql,
          parameters: [toStored(threadId), id, until ?? null, DocumentJson.fromMessages(messages)],
        })),
      );
  }

  async read(threadId: string, ids: readonly string[]): Promise<Page[]> {
    const pages: Page[] = [];
    for (let from = 0; from < ids.length; from += MAX_READ) {
      const some = ids.slice(from, from + MAX_READ);
      const rows = await this.#ofPages("SELECT id, until, messages FROM", "", threadId, some);
      pages.push(...rows.map(pageOf));
    }
    return pages;
  }

  /** `until` is NULL for never: so is the maximum of NULL and another value. A comparison with NULL is never true. */
  async raise(threadId: string, ids: readonly string[], until: number | undefined): Promise<void> {
    await this.#ofPages("UPDATE", "SET until = max(until, ?)", threadId, ids, until ?? null);
  }

  async remove(threadId: string, ids: readonly string[]): Promise<void> {
    await this.#ofPages("DELETE FROM", "", threadId, ids);
  }

  async keys(threadId: string): Promise<string[]> {
    const rows = await this.#run(`SELECT id FROM ${this.#prefix}pages WHERE thread = ?`, toStored(threadId));
    return rows.map(({ id }) => String(id));
  }

  async list({ prefix, limit, after = "" }: HeadsRequest): Promise<HeadListing> {
    const size = Math.min(limit, MAX_LISTED);
    const sql = `SELECT thread, token, head FROM ${this.#prefix}heads WHERE ${namesBetween("thread")} ORDER BY thread LIMIT ?`;
    const rows = await this.#run(sql, ...boundsOf(prefix, after), size + 1);
    const heads = rows.slice(0, size).map(({ thread, token, head }) => ({
      threadId: fromStored(thread),
      head: DocumentJson.toHead(String(head), { token: String(token) }),
    }));
    const next = rows.length > size ? heads.at(-1)?.threadId : undefined;
    return { heads, ...(next !== undefined && { next }) };
  }

  async setup(): Promise<void> {
    const all = [...definitions(this.#prefix), ...checks(this.#prefix)];
    await this.#client.batch(all.map((sql) => ({ sql, parameters: [] })));
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return this.#client.classifyError(error) ?? classifySqlite(this.capabilities.backend, error);
  }

  /** @param changes the values in `change`. */
  #ofPages(
    verb: string,
    change: string,
    threadId: string,
    ids: readonly string[],
    ...changes: SqliteStatement["parameters"]
  ) {
    const sql = `${verb} ${this.#prefix}pages ${change} WHERE thread = ? AND id IN (SELECT value FROM json_each(?))`;
    return this.#run(sql, ...changes, toStored(threadId), JSON.stringify(ids));
  }

  async #run(sql: string, ...parameters: SqliteStatement["parameters"]): Promise<readonly SqliteRow[]> {
    const [rows = []] = await this.#client.batch([{ sql, parameters }]);
    return rows;
  }

  /** SQLite deletes nothing by itself. */
  #sweep(name: "heads" | "pages"): SqliteStatement {
    const table = this.#prefix + name;
    const sql = `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE until <= ? LIMIT ${SWEPT})`;
    return { sql, parameters: [Date.now()] };
  }
}

function pageOf({ id, until, messages }: SqliteRow): Page {
  return {
    id: String(id),
    messages: DocumentJson.toMessages(String(messages)),
    ...(until !== null && { until: Number(until) }),
  };
}

/** The errors that SQLite itself reports, by its messages: not every client passes on a code. */
function classifySqlite(backend: string, error: unknown): ErrorClassification | undefined {
  const { permanent, retryable, tooLarge, unsupported } = errorTable(backend);
  const message = error instanceof Error ? error.message : "";
  if (message.includes("no such table"))
    return { ...permanent("a table does not exist; run setup()"), isMissing: true };
  if (/no such column|has no column named|same number of result columns/.test(message))
    return unsupported("a table has other columns than the stores need; use another tablePrefix");
  if (/too big|too large|SQLITE_TOOBIG/i.test(message))
    return tooLarge("a row is larger than the database accepts; see cause");
  if (/database or disk is full|SQLITE_FULL/.test(message)) return permanent("the database is full");
  if (/readonly|not authorized/.test(message))
    return permanent("the tables cannot be written or created; see cause");
  if (/malformed|not a database/.test(message)) return permanent("the database is damaged; see cause");
  return /is locked|SQLITE_BUSY/.test(message)
    ? retryable("the database stayed locked; look for a long transaction")
    : undefined;
}
