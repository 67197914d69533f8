import type { EventEmitter } from "node:events";
import {
  type Amendment,
  CONNECT_TIMEOUT_MS,
  checkStreamCursor,
  type DriverTarget,
  type ErrorClassification,
  hostAndPort,
  type LogRow,
  PendingCalls,
  pause,
  REPLY_TIMEOUT_MS,
  type RecordLog,
  type RecordLogCapabilities,
  type StreamPage,
  type StreamsRequest,
  streamPageOf,
} from "@scrollback/store-core";
import { Client, type Pool, type PoolClient, type QueryArrayConfig } from "pg";
import { planAmend } from "./amend.ts";
import { classifyError, isConnectionLost, isStatementLost, withoutValues } from "./errors.ts";
import type { PostgresClient, PostgresTable } from "./options.ts";
import { OwnPool } from "./own-pool.ts";
import { fromText, type StoredRow, toBigint, toRow, toText, toValues } from "./row.ts";
import { createTable, qualified } from "./setup.ts";
import { type Statement, type Statements, statementsOn } from "./statements.ts";

const capabilities: RecordLogCapabilities = Object.freeze({
  backend: "postgres",
  sharing: "network",
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
  maxRowBytes: 8 * 1024 ** 2,
});

/** The number of consecutive lost connections that a request survives. All connections of a pool are often lost together. */
const LOST_CONNECTIONS = 3;

/** More rows than any thread has. */
const MAX_LIMIT = 2 ** 31 - 1;

/** Clients with an error listener: one for all factories on a client, because Node.js warns of many listeners. */
const clientsWithListener = new WeakSet<PostgresClient>();

/** The record log in a PostgreSQL table: one table row per log row. `row.ts` has the layout, `statements.ts` the SQL. */
export class PostgresRecordLog implements RecordLog {
  readonly capabilities = capabilities;
  readonly target: DriverTarget;
  readonly #table: PostgresTable;
  readonly #statements: Statements;
  readonly #server: string | undefined;
  readonly #calls = new PendingCalls();
  /** The last request on a single connection, which processes one request after the other. */
  #last: Promise<unknown> = Promise.resolve();
  /** The connections of the factory's own pool that wait for a reply. */
  readonly #busy = new Set<PoolClient>();
  /** Whether statements are prepared. Set to false when a pooler sends requests to connections without them. */
  #prepares = true;

  constructor(table: PostgresTable) {
    const { client, owned, schema, tableName } = table;
    this.#table = table;
    if (owned && isPool(client)) {
      client.on("acquire", (connection) => this.#busy.add(connection));
      client.on("release", (_, connection) => this.#busy.delete(connection));
    }
    this.#statements = statementsOn(qualified(schema, tableName));
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
    await createTable(
      async (text, values) => (await this.#query({ text, ...(values && { values }) })).rows,
      schema,
      tableName,
    );
  }

  async close(): Promise<void> {
    const { client } = this.#table;
    const own = client instanceof OwnPool ? client : undefined;
    await this.#calls.close(() => {
      // Ending a pool waits for replies; ending a connection does not.
      for (const busy of this.#busy) void busy.end();
      return own?.disconnect();
    });
    own?.destroySockets();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifyError(error, this.#server, this.#table.owned);
  }

  /** Sends a statement in one round trip. It is prepared if possible, because planning takes as long as a small insert. */
  async #send({ text, name }: Statement, values: unknown[]): Promise<Reply> {
    if (!this.#prepares) return await this.#query({ text, values });
    try {
      return await this.#query({ text, name, values });
    } catch (error) {
      // Nothing was executed.
      if (!isStatementLost(error)) throw error;
      this.#prepares = false;
      return await this.#query({ text, values });
    }
  }

  #query(query: { text: string; name?: string; values?: unknown[] }): Promise<Reply> {
    const { client } = this.#table;
    listenToErrors(client);
    const config: QueryArrayConfig & { query_timeout: number } = {
      ...query,
      rowMode: "array",
      query_timeout: REPLY_TIMEOUT_MS,
    };
    return this.#calls.run(async () => {
      if (isPool(client)) return await queryPool(client, config);
      const request = () => client.query<unknown[]>(config);
      const sent = this.#last.then(request, request);
      this.#last = sent.catch(() => undefined);
      return await sent.catch((error) => {
        throw withoutValues(error);
      });
    }, CONNECT_TIMEOUT_MS + REPLY_TIMEOUT_MS);
  }
}

/** Retries on another connection if one was lost. Every verb can be repeated: the log recognises its own row by its token. */
async function queryPool(pool: Pool, config: QueryArrayConfig): Promise<Reply> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await pool.query<unknown[]>(config);
    } catch (error) {
      if (attempt >= LOST_CONNECTIONS || !isConnectionLost(error)) throw withoutValues(error);
    }
    await pause(attempt);
  }
}

interface Reply {
  readonly rows: readonly (readonly unknown[])[];
  readonly rowCount: number | null;
}

/** The client may be of another copy of pg. */
function isPool(client: PostgresClient): client is Pool {
  return "totalCount" in client;
}

/** The loss of an idle connection must not end the process. The next call reports it. */
function listenToErrors(client: PostgresClient): void {
  if (clientsWithListener.has(client)) return;
  clientsWithListener.add(client);
  (client as EventEmitter).on("error", () => undefined);
}

/** The address that a client connects to. pg reads a pool's URL and the environment only when it opens a connection. */
function locationOf(client: PostgresClient): { host: string; port: number; database?: string | undefined } {
  return isPool(client) ? new Client(client.options) : client;
}
