import {
  type Amendment,
  checkStreamCursor,
  type DriverTarget,
  type ErrorClassification,
  hostAndPort,
  ignoreErrors,
  type LogRow,
  PooledCalls,
  type RecordLog,
  type RecordLogCapabilities,
  type StreamPage,
  type StreamsRequest,
  streamPageOf,
} from "@scrollback/store-core";
import { Client, type QueryArrayConfig } from "pg";
import { planAmend } from "./amend.ts";
import { connectionsOf, isInTransaction, kindOf } from "./connections.ts";
import { PostgresEntries } from "./entries.ts";
import { classifyError, isStatementLost, OpenTransactionError, withoutValues } from "./errors.ts";
import { isPool, type PostgresClient, type PostgresTable } from "./options.ts";
import { fromText, type StoredRow, toBigint, toRow, toText, toValues } from "./row.ts";
import { createTable, entriesName, qualified, tablesOf } from "./setup.ts";
import { type Statement, type Statements, statementsOn } from "./statements.ts";

const capabilities: RecordLogCapabilities = Object.freeze({
  backend: "postgres",
  sharing: "network",
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
  maxRowBytes: 8 * 1024 ** 2,
});

/** More rows than any thread has. */
const MAX_LIMIT = 2 ** 31 - 1;

/** The record log in a PostgreSQL table: one table row per log row. `row.ts` has the layout, `statements.ts` the SQL. */
export class PostgresRecordLog implements RecordLog {
  readonly capabilities = capabilities;
  readonly target: DriverTarget;
  readonly index: PostgresEntries;
  readonly #table: PostgresTable;
  readonly #statements: Statements;
  readonly #server: string | undefined;
  readonly #calls: PooledCalls<Client>;
  /** Whether statements are prepared. Set to false when a pooler sends requests to connections without them. */
  #prepares = true;

  constructor(table: PostgresTable) {
    const { client, schema, tableName } = table;
    this.#table = table;
    this.#calls = new PooledCalls(connectionsOf(table));
    // A pool reports the loss of its idle connections.
    ignoreErrors(client);
    this.#statements = statementsOn(qualified(schema, tableName));
    this.index = new PostgresEntries(qualified(schema, entriesName(tableName)), {
      send: (statement, values) => this.#send(statement, values),
      sendOnce: (statement, values) => this.#send(statement, values, true),
    });
    const { host, port, database } = locationOf(client);
    this.#server = host === "" ? undefined : hostAndPort(host, port);
    this.target = {
      collection: tableName,
      ...(database && { namespace: database }),
      ...(host && !host.startsWith("/") && { server: { address: host, port } }),
    };
  }

  async insert(stream: string, row: LogRow): Promise<boolean> {
    const { rowCount } = await this.#send(this.#statements.insert, toValues(stream, row));
    return rowCount === 1;
  }

  async read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    const { readHeads, readRows } = this.#statements;
    const values = [toText(stream), toBigint(below), Math.min(limit, MAX_LIMIT)];
    return (await this.#send(heads ? readHeads : readRows, values)).rows.map((row) =>
      toRow(row as StoredRow),
    );
  }

  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    for (const changes of planAmend(amendments))
      await this.#send(this.#statements.amend, [toText(stream), JSON.stringify(changes)]);
  }

  /** Sends one query, which searches an index once per stream. */
  async streams(request: StreamsRequest): Promise<StreamPage> {
    checkStreamCursor(request);
    const { prefix, limit, after = "" } = request;
    const values = [toText(prefix), toText(after), limit + 1];
    const { rows } = await this.#send(this.#statements.streams, values);
    return streamPageOf(
      rows.map(([stream]) => fromText(String(stream))),
      limit,
    );
  }

  async setup(): Promise<void> {
    const { schema, tableName } = this.#table;
    for (const table of tablesOf(schema, tableName))
      await createTable(
        async (text, values) => (await this.#query({ text, ...(values && { values }) })).rows,
        table,
      );
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifyError(error, this.#server, kindOf(this.#table));
  }

  /**
   * Sends a statement in one round trip. It is prepared if possible, because planning takes as long as a small insert.
   *
   * @param once whether it must not be repeated after a lost connection.
   */
  async #send({ text, name }: Statement, values: unknown[], once = false): Promise<Reply> {
    if (!this.#prepares) return await this.#query({ text, values }, once);
    try {
      return await this.#query({ text, name, values }, once);
    } catch (error) {
      // Nothing was executed.
      if (!isStatementLost(error)) throw error;
      this.#prepares = false;
      return await this.#query({ text, values }, once);
    }
  }

  async #query(query: { text: string; name?: string; values?: unknown[] }, once = false): Promise<Reply> {
    const config: QueryArrayConfig = { ...query, rowMode: "array" };
    const request = async (connection: Client) => {
      const reply = await connection.query<unknown[]>(config);
      if (isInTransaction(connection)) throw new OpenTransactionError();
      return reply;
    };
    try {
      return await (once ? this.#calls.runOnce(request) : this.#calls.run(request));
    } catch (error) {
      throw withoutValues(error);
    }
  }
}

/** The server's answer to a statement. */
interface Reply {
  readonly rows: readonly (readonly unknown[])[];
  readonly rowCount: number | null;
}

/** The address that a client connects to. pg reads a pool's URL and the environment only when it opens a connection. */
function locationOf(client: PostgresClient): { host: string; port: number; database?: string | undefined } {
  return isPool(client) ? new Client(client.options) : client;
}
