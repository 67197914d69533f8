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
import {
  type DriverTarget,
  type ErrorClassification,
  hostAndPort,
  PooledCalls,
} from "@scrollback/store-core/driver";
import { format } from "mysql2";
import { connectionsOf, locationOf, type MariadbConnection, replyOn } from "./connections.ts";
import { MariadbEntries } from "./entries.ts";
import { classifyError, isKeyTaken, withoutValues } from "./errors.ts";
import type { MariadbTable } from "./options.ts";
import { createTables, entriesOf, pagesOf, quoted } from "./setup.ts";
import { boundsOf, fromBytes, namesBetween, type Reply, select, toBytes, type Value } from "./statements.ts";

const capabilities: DocumentCapabilities = Object.freeze({
  backend: "mariadb",
  sharing: "network",
  maxDocumentBytes: 512 * 1024,
});

/** The bytes of JSON in a statement of `write`, which may end with one document more. */
const BATCH_BYTES = 2 * 1024 ** 2;

/** Threads as documents in two tables, see `setup.ts`. Each verb is one statement, but that of many pages. */
export class MariadbDocuments implements DocumentDatabase {
  readonly capabilities = capabilities;
  readonly target: DriverTarget;
  readonly index: MariadbEntries;
  readonly #table: MariadbTable;
  /** The names of the tables of the heads and of the pages, in SQL. */
  readonly #heads: string;
  readonly #pages: string;
  readonly #server: string;
  readonly #calls: PooledCalls<MariadbConnection>;

  constructor(table: MariadbTable) {
    const { client, tableName } = table;
    this.#table = table;
    this.#heads = quoted(tableName);
    this.#pages = pagesOf(tableName);
    this.#calls = new PooledCalls(connectionsOf(table));
    this.index = new MariadbEntries(entriesOf(tableName), (sql, values) => this.#send(sql, values));
    const { host, port, database } = locationOf(client.pool);
    this.#server = hostAndPort(host, port);
    this.target = {
      collection: tableName,
      ...(database && { namespace: database }),
      server: { address: host, port },
    };
  }

  /** Fails in a table without a primary key, in which a thread could have two heads. */
  async load(threadId: string): Promise<LoadedHead | null> {
    const from = `FROM ${this.#heads} FORCE INDEX (PRIMARY) WHERE thread = ?`;
    const [row] = (await this.#send(select(["token", "head", "tail"], from), [toBytes(threadId)])).rows;
    if (!row) return null;
    const [token = "", json = "", tail = ""] = row.map(fromBytes);
    const head = DocumentJson.toHead(json, { token, tail });
    return { token: head ? token : Buffer.from(row[1] as Buffer).toString("latin1"), head };
  }

  /** The token of a damaged head is its own bytes. */
  async swap({ threadId, expected, head }: Swap): Promise<boolean> {
    const columns: Value[] = [
      toBytes(tokenOf(head)),
      head.until ?? null,
      toBytes(DocumentJson.fromHead(head)),
      toBytes(DocumentJson.fromMessages(head.tail)),
    ];
    if (!expected) return await this.#insert([toBytes(threadId), ...columns]);
    const { count } = await this.#send(
      `UPDATE ${this.#heads} SET token = ?, until = ?, head = ?, tail = ? WHERE thread = ? AND ? IN (token, head)`,
      [...columns, toBytes(threadId), Buffer.from(expected.token, "latin1")],
    );
    return count === 1;
  }

  async write(threadId: string, pages: readonly Page[]): Promise<void> {
    for (const rows of batched(threadId, pages)) {
      await this.#send(
        `INSERT INTO ${this.#pages} (thread, id, until, messages) VALUES ${rows.map(() => "(?, ?, ?, ?)").join(", ")}
ON DUPLICATE KEY UPDATE id = VALUES(id)`,
        rows.flat(),
      );
    }
  }

  async read(threadId: string, ids: readonly string[]): Promise<Page[]> {
    const where = `FROM ${this.#pages} WHERE thread = ? AND id IN (?)`;
    const { rows } = await this.#send(select(["id", "messages", "until"], where), keysOf(threadId, ids));
    return rows.map(([id, messages, until]) => ({
      id: fromBytes(id),
      messages: DocumentJson.toMessages(fromBytes(messages)),
      ...(until !== null && { until: Number(until) }),
    }));
  }

  async raise(threadId: string, ids: readonly string[], until: number | undefined): Promise<void> {
    const [set, where] = until === undefined ? ["NULL", "IS NOT NULL"] : [`${until}`, `< ${until}`];
    await this.#send(
      `UPDATE ${this.#pages} SET until = ${set} WHERE thread = ? AND id IN (?) AND until ${where}`,
      keysOf(threadId, ids),
    );
  }

  async remove(threadId: string, ids: readonly string[]): Promise<void> {
    await this.#send(`DELETE FROM ${this.#pages} WHERE thread = ? AND id IN (?)`, keysOf(threadId, ids));
  }

  async keys(threadId: string): Promise<string[]> {
    const { rows } = await this.#send(select(["id"], `FROM ${this.#pages} WHERE thread = ?`), [
      toBytes(threadId),
    ]);
    return rows.map(([id]) => fromBytes(id));
  }

  async list({ prefix, limit, after = "" }: HeadsRequest): Promise<HeadListing> {
    const from = `FROM ${this.#heads} WHERE ${namesBetween("thread")} ORDER BY thread LIMIT ?`;
    const { rows } = await this.#send(select(["thread", "token", "head"], from), [
      ...boundsOf(prefix, after),
      limit + 1,
    ]);
    const heads = rows.slice(0, limit).map((row) => {
      const [threadId = "", token = "", head = ""] = row.map(fromBytes);
      return { threadId, head: DocumentJson.toHead(head, { token }) };
    });
    const next = rows.length > limit ? heads.at(-1)?.threadId : undefined;
    return { heads, ...(next !== undefined && { next }) };
  }

  async setup(): Promise<void> {
    await createTables((sql, values) => this.#send(sql, values), this.#table.tableName);
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifyError(error, this.#server, this.#table.owned);
  }

  /** Only the plain INSERT refuses a key that is taken, with error 1062, and nothing else silently. */
  async #insert(row: readonly Value[]): Promise<boolean> {
    try {
      await this.#send(
        `INSERT INTO ${this.#heads} (thread, token, until, head, tail) VALUES (?, ?, ?, ?, ?)`,
        row,
      );
      return true;
    } catch (error) {
      if (isKeyTaken(error)) return false;
      throw error;
    }
  }

  /** Sends a statement in one round trip, with its values in it: preparing it first would be another one. */
  async #send(sql: string, values: readonly Value[] = []): Promise<Reply> {
    const text = format(sql, [...values]);
    const send = (connection: MariadbConnection) => replyOn(connection, text);
    try {
      return await this.#calls.run(send);
    } catch (error) {
      throw withoutValues(error);
    }
  }
}

/** SQL has no empty lists, and no page has an empty id. */
const keysOf = (threadId: string, ids: readonly string[]): Value[] => [
  toBytes(threadId),
  ["", ...ids].map(toBytes),
];

/** The rows of pages in groups for a statement each. */
function batched(threadId: string, pages: readonly Page[]): Value[][][] {
  let bytes = 0;
  const rows = pages.map(({ id, until, messages }) => {
    const json = toBytes(DocumentJson.fromMessages(messages));
    bytes += json.length;
    return {
      batch: Math.floor(bytes / BATCH_BYTES),
      row: [toBytes(threadId), toBytes(id), until ?? null, json],
    };
  });
  return [...Map.groupBy(rows, ({ batch }) => batch).values()].map((batch) => batch.map(({ row }) => row));
}
