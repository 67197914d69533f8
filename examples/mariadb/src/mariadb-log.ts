import {
  type Amendment,
  checkStreamCursor,
  type LogRow,
  type RecordLog,
  type RecordLogCapabilities,
  type StreamPage,
  type StreamsRequest,
  streamPageOf,
} from "@scrollback/record-log";
import {
  type DriverTarget,
  type ErrorClassification,
  hostAndPort,
  PooledCalls,
} from "@scrollback/store-core/driver";
import { format } from "mysql2";
import { amendStatement } from "./amend.ts";
import { connectionsOf, locationOf, type MariadbConnection, replyOn } from "./connections.ts";
import { MariadbEntries } from "./entries.ts";
import { classifyError, isKeyTaken, withoutValues } from "./errors.ts";
import type { MariadbTable } from "./options.ts";
import { fromBytes, type StoredRow, toRow } from "./row.ts";
import { createTables, entriesOf, quoted } from "./setup.ts";
import {
  insertStatement,
  type Reply,
  readStatement,
  type Statement,
  streamsStatement,
} from "./statements.ts";

const capabilities: RecordLogCapabilities = Object.freeze({
  backend: "mariadb",
  sharing: "network",
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
  maxRowBytes: 3 * 1024 ** 2,
});

/** The record log in a MariaDB table: one table row per log row. `row.ts` has the layout, `statements.ts` the SQL. */
export class MariadbRecordLog implements RecordLog {
  readonly capabilities = capabilities;
  readonly target: DriverTarget;
  readonly index: MariadbEntries;
  readonly #table: MariadbTable;
  /** The table's name in SQL. */
  readonly #name: string;
  readonly #server: string;
  readonly #calls: PooledCalls<MariadbConnection>;

  constructor(table: MariadbTable) {
    const { client, tableName } = table;
    this.#table = table;
    this.#name = quoted(tableName);
    this.#calls = new PooledCalls(connectionsOf(table));
    this.index = new MariadbEntries(entriesOf(tableName), {
      send: (one) => this.#send(one),
      sendOnce: (one) => this.#send(one, true),
    });
    const { host, port, database } = locationOf(client.pool);
    this.#server = hostAndPort(host, port);
    this.target = {
      collection: tableName,
      ...(database && { namespace: database }),
      server: { address: host, port },
    };
  }

  async insert(stream: string, row: LogRow): Promise<boolean> {
    try {
      await this.#send(insertStatement(this.#name, stream, row));
      return true;
    } catch (error) {
      if (isKeyTaken(error)) return false;
      throw error;
    }
  }

  async read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    const { rows } = await this.#send(readStatement(this.#name, { stream, below, limit, heads }));
    return rows.map((row) => toRow(row as StoredRow));
  }

  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    const update = amendStatement(this.#name, stream, amendments);
    if (update) await this.#send(update);
  }

  async streams(asked: StreamsRequest): Promise<StreamPage> {
    checkStreamCursor(asked);
    const { prefix, limit, after = "" } = asked;
    const { rows } = await this.#send(streamsStatement(this.#name, prefix, after, limit + 1));
    return streamPageOf(
      rows.map(([root]) => fromBytes(root)),
      limit,
    );
  }

  async setup(): Promise<void> {
    await createTables((one) => this.#send(one), this.#table.tableName);
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifyError(error, this.#server, this.#table.owned);
  }

  /**
   * Sends a statement in one round trip, with its values in it: preparing it first would be another one.
   *
   * @param once whether it must not be repeated after a lost connection.
   */
  async #send({ sql, values }: Statement, once = false): Promise<Reply> {
    const text = format(sql, [...values]);
    const send = (connection: MariadbConnection) => replyOn(connection, text);
    try {
      return await (once ? this.#calls.runOnce(send) : this.#calls.run(send));
    } catch (error) {
      throw withoutValues(error);
    }
  }
}
