import type { EventEmitter } from "node:events";
import {
  type ConnectionPool,
  ignoreErrors,
  PendingCalls,
  PooledCalls,
  type UsedClient,
} from "@scrollback/store-core/driver";
import type { Client, PoolClient, QueryArrayConfig } from "pg";
import { OpenTransactionError, verdictOn, withoutValues } from "./errors.ts";
import { isPglite, isPool, type PgliteClient, type PostgresClient } from "./options.ts";

/** The rows of a reply. */
export type Rows = readonly (readonly unknown[])[];

/** How the driver sends statements, on any client. */
export interface Session {
  /**
   * Sends a statement in one request. A pool repeats it on another connection after a lost one.
   *
   * @param repetition `once`: it must not be repeated.
   */
  query(text: string, values: readonly unknown[], repetition?: "once"): Promise<Rows>;
  /** Runs several statements without parameters as one transaction, or within the one that the connection is in. */
  script(text: string): Promise<void>;
  close(): Promise<void>;
}

/** The session of a client. */
export function sessionOf({ client, owned }: UsedClient<PostgresClient>): Session {
  if (isPglite(client)) return new PgliteSession(client);
  // A pool reports the loss of its idle connections.
  ignoreErrors(client as EventEmitter);
  return new PgSession(isPool(client) ? poolOf(client, owned) : new OneConnection(client), isPool(client));
}

/** The connections of `pg`, or of a package with the same API. */
class PgSession implements Session {
  readonly #calls: PooledCalls<Client>;
  readonly #isPool: boolean;

  constructor(connections: ConnectionPool<Client>, isPooled: boolean) {
    this.#calls = new PooledCalls(connections);
    this.#isPool = isPooled;
  }

  async query(text: string, values: readonly unknown[], repetition?: "once"): Promise<Rows> {
    // Without a name: a pooler may send the next statement to another connection of the server, which has not prepared it.
    const config: QueryArrayConfig = { text, values: [...values], rowMode: "array" };
    const request = async (connection: Client) => {
      const { rows } = await connection.query<unknown[]>(config).catch(throwError);
      // On a connection that was handed in, the transaction is the caller's own.
      if (this.#isPool && isInTransaction(connection)) throw new OpenTransactionError();
      return rows;
    };
    return await this.#run(request, repetition === "once" || !this.#isPool);
  }

  async script(text: string): Promise<void> {
    await this.#run((connection) => connection.query(text), true);
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  async #run<T>(request: (connection: Client) => Promise<T>, once: boolean): Promise<T> {
    try {
      return await (once ? this.#calls.runOnce(request) : this.#calls.run(request));
    } catch (error) {
      throw withoutValues(error);
    }
  }
}

/** A PGlite, a PostgreSQL within this process, or a transaction on it. It takes one statement at a time. */
class PgliteSession implements Session {
  readonly #client: PgliteClient;
  readonly #calls = new PendingCalls();

  constructor(client: PgliteClient) {
    this.#client = client;
  }

  async query(text: string, values: readonly unknown[]): Promise<Rows> {
    try {
      const request = () => this.#client.query(text, [...values], { rowMode: "array" });
      return (await this.#calls.run(request)).rows as Rows;
    } catch (error) {
      throw withoutValues(error);
    }
  }

  async script(text: string): Promise<void> {
    await this.#calls.run(() => this.#client.exec(text));
  }

  close(): Promise<void> {
    return this.#calls.close(() => undefined);
  }
}

/** The error of a client. That of a lost WebSocket is an event. */
function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error("Connection terminated", { cause: error });
}

function throwError(error: unknown): never {
  throw errorOf(error);
}

/** Whether the last reply came within a transaction. Older versions of pg do not tell. */
function isInTransaction(connection: Client): boolean {
  const status = connection.getTransactionStatus?.() ?? "I";
  return status !== "I";
}

function poolOf(
  client: Extract<PostgresClient, { totalCount: number }>,
  owned: boolean,
): ConnectionPool<Client> {
  const own = {
    end: () => client.end(),
    destroy: ({ connection }: Client) => void connection.stream.destroy(),
  };
  return {
    acquire: () =>
      new Promise((resolve, reject) => {
        client.connect((error, connection) => {
          if (!connection) return reject(errorOf(error));
          // At once: the server's farewell may have come together with the end of the login.
          ignoreErrors(connection);
          resolve(connection);
        });
      }),
    release: (connection, reusable) => (connection as PoolClient).release(!reusable),
    verdictOn,
    ...(owned && { own }),
  };
}

/** One connection, on which requests take turns. */
class OneConnection implements ConnectionPool<Client> {
  readonly verdictOn = verdictOn;
  readonly #client: Client;
  #last: Promise<void> = Promise.resolve();
  #finish = () => {};

  constructor(client: Client) {
    this.#client = client;
  }

  async acquire(): Promise<Client> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    this.#finish = resolve;
    return this.#client;
  }

  /** Only its owner can replace a connection that is not reusable. */
  release(): void {
    this.#finish();
  }
}
