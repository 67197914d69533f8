import type { EventEmitter } from "node:events";
import { resolve } from "node:path";
import {
  type ConnectionPool,
  ignoreErrors,
  PendingCalls,
  PooledCalls,
  type UsedClient,
} from "@scrollback/store-core/driver";
import type { Client, CustomTypesConfig, PoolClient, QueryArrayConfig } from "pg";
import {
  folderInUse,
  HeldError,
  isReply,
  OpenTransactionError,
  refusal,
  untoldState,
  withoutValues,
} from "./errors.ts";
import { isPglite, isPool, type PgliteClient, type PostgresClient } from "./options.ts";

/** The rows of a reply. The statements cast each column to `text`. */
export type Rows = readonly (readonly (string | null)[])[];

/** An argument of a statement. It is sent as text. */
export type Value = string | number | boolean | null;

/** What a client of `pg` is asked. Its own parsers, and those of all clients, are not used, nor is its option `binary`: a text has the same bytes. */
export function configOf(text: string, values: readonly Value[]): QueryArrayConfig {
  return { text, values: textsOf(values), rowMode: "array", types: plainTypes };
}

const plainTypes = { getTypeParser: () => String } as unknown as CustomTypesConfig;

/** Asks a PGlite, without its own parsers and serializers. */
export async function askPglite(client: PgliteClient, text: string, values: readonly Value[]): Promise<Rows> {
  return (await client.query(text, textsOf(values), plainOptions)).rows as Rows;
}

/** The OIDs of bool, int8, int4, text, text[] and real[]: the types of all arguments and columns. */
const plain = Object.fromEntries([16, 20, 23, 25, 1009, 1021].map((oid) => [oid, String]));
const plainOptions = { rowMode: "array", parsers: plain, serializers: plain } as const;

function textsOf(values: readonly Value[]): (string | null)[] {
  return values.map((value) => (value === null ? null : String(value)));
}

/** How the driver sends statements, on any client. */
export interface Session {
  /** Sends a statement in one request. */
  query(text: string, values: readonly Value[]): Promise<Rows>;
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

  async query(text: string, values: readonly Value[]): Promise<Rows> {
    // Without a name: a pooler may send the next statement to another connection of the server, which has not prepared it.
    const config = configOf(text, values);
    return await this.#run(async (connection) => (await connection.query<(string | null)[]>(config)).rows);
  }

  async script(text: string): Promise<void> {
    await this.#run((connection) => connection.query(text));
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  async #run<T>(ask: (connection: Client) => Promise<T>): Promise<T> {
    const request = async (connection: Client) => {
      // On a connection that was handed in, the transaction is the caller's own.
      const state = this.#isPool ? transactionStateOf(connection) : undefined;
      const reply = await ask(connection).catch(throwError);
      if (state && state() !== "I") throw new OpenTransactionError();
      return reply;
    };
    try {
      return await this.#calls.run(request);
    } catch (error) {
      throw withoutValues(error);
    }
  }
}

/** A PGlite, a PostgreSQL within this process, or a transaction on it. It takes one statement at a time. */
class PgliteSession implements Session {
  readonly #client: PgliteClient;
  readonly #calls = new PendingCalls();
  /** The number of calls that the PGlite has answered. */
  #answered = 0;

  constructor(client: PgliteClient) {
    this.#client = client;
  }

  async query(text: string, values: readonly Value[]): Promise<Rows> {
    try {
      return await this.#run(() => askPglite(this.#client, text, values));
    } catch (error) {
      throw withoutValues(error);
    }
  }

  async script(text: string): Promise<void> {
    await this.#run(() => this.#client.exec(text));
  }

  close(): Promise<void> {
    return this.#calls.close(() => undefined);
  }

  /** Fails when the PGlite has answered no call for 10 seconds: an open transaction holds it, perhaps that of the caller, for ever. */
  async #run<T>(ask: () => Promise<T>): Promise<T> {
    assertOnlyOne(this.#client);
    const reply = ask().finally(() => this.#answered++);
    for (;;) {
      const answered = this.#answered;
      try {
        return await this.#calls.run(() => reply, HELD_MS);
      } catch (error) {
        if (!isTimeout(error)) throw error;
        if (answered === this.#answered) throw new HeldError();
      }
    }
  }
}

/** The time after which a call on a PGlite fails. The error's message names it. */
const HELD_MS = 10_000;

const isTimeout = (error: unknown) => error instanceof Error && error.name === "TimeoutError";

/** The PGlites of this process by their folders. Each has its own memory of the same files: the writes of one damage those of the other. */
const byFolder = new Map<string, WeakRef<PgliteClient>>();

/** @throws StoreError `UNSUPPORTED` if another PGlite of this process has the same folder open. */
function assertOnlyOne(client: PgliteClient): void {
  const { dataDir } = client;
  if (!dataDir || /^(?!file:)\w+:\/\//.test(dataDir)) return;
  const folder = resolve(dataDir.replace(/^file:\/\//, ""));
  const first = byFolder.get(folder)?.deref();
  if (first === client) return;
  if (first && !first.closed) throw refusal(folderInUse);
  byFolder.set(folder, new WeakRef(client));
}

/** The error of a client. That of a lost WebSocket is an event. */
function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error("Connection terminated", { cause: error });
}

function throwError(error: unknown): never {
  throw errorOf(error);
}

/** What the server reported with the last reply on connections of packages that do not tell: pg before 8.21 and Neon's. */
const reportedStates = new WeakMap<Client, string>();

/**
 * Returns a function for the state of a connection after a reply: `I` outside of a transaction.
 *
 * @throws StoreError `UNSUPPORTED` if the client hides what the server reports.
 */
function transactionStateOf(connection: Client): () => string | null | undefined {
  const { getTransactionStatus, connection: protocol } = connection as Partial<Client>;
  if (getTransactionStatus) return () => getTransactionStatus.call(connection);
  if (!protocol) throw refusal(untoldState);
  if (!reportedStates.has(connection)) {
    reportedStates.set(connection, "");
    protocol.on("readyForQuery", ({ status }: { status: string }) => reportedStates.set(connection, status));
  }
  return () => reportedStates.get(connection);
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
    isReply,
    ...(owned && { own }),
  };
}

/** One connection, on which requests take turns. */
class OneConnection implements ConnectionPool<Client> {
  readonly isReply = isReply;
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
