import { type ConnectionPool, ignoreErrors, type UsedClient } from "@scrollback/store-core";
import type { Client, PoolClient } from "pg";
import { type ClientKind, verdictOn } from "./errors.ts";
import { isPool, type PostgresClient } from "./options.ts";

export function kindOf({ client, owned }: UsedClient<PostgresClient>): ClientKind {
  if (!isPool(client)) return "connection";
  return owned ? "own pool" : "pool";
}

/** Whether the last reply came within a transaction. Older versions of pg do not tell. */
export function isInTransaction(connection: Client): boolean {
  const status = connection.getTransactionStatus?.() ?? "I";
  return status !== "I";
}

/** The connections of a pool, or the one connection that was handed in. */
export function connectionsOf({ client, owned }: UsedClient<PostgresClient>): ConnectionPool<Client> {
  if (!isPool(client)) return new OneConnection(client);
  const own = {
    end: () => client.end(),
    destroy: ({ connection }: Client) => void connection.stream.destroy(),
  };
  return {
    acquire: () =>
      new Promise((resolve, reject) => {
        client.connect((error, connection) => {
          if (!connection) return reject(error);
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
