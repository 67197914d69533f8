import { setImmediate as otherEvents } from "node:timers/promises";
import type { Client, ResultSet } from "@libsql/client";
import type { SqliteClient } from "@scrollback/documents/sqlite";
import {
  type DriverTarget,
  type ErrorClassification,
  hostAndPort,
  PendingCalls,
  REQUEST_TIMEOUT_MS,
} from "@scrollback/store-core/driver";
import { systemClock } from "@scrollback/store-core/internal";
import { classifyLibsqlError, isBusy } from "./errors.ts";
import { FileCheck } from "./file-check.ts";
import type { LibsqlSource } from "./options.ts";

type Statements = Parameters<SqliteClient["batch"]>[0];

/** The time for which a batch tries again while the file is locked: the stores repeat it once more after that. */
const BUSY_DEADLINE_MS = REQUEST_TIMEOUT_MS - 500;
/** The longest pause before the next try. A file that another process writes continuously is free for short times only. */
const BUSY_PAUSE_MS = 2;
/**
 * Fails if another connection writes. After a batch that fails so, `@libsql/client` 0.18 keeps its connection locked, because it does not
 * reset the statement; after this script, it does not.
 */
const PROBE = "BEGIN IMMEDIATE; COMMIT";
/** The settings of a file that the factory opened. */
const PRAGMAS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON";
/** After this number of batches other events of the process get a turn: a batch on a file does not wait for I/O. */
const BATCHES_AT_ONCE = 64;

/** SQL on a file by libSQL's own SQLite, or on a server. A busy file is waited for by trying again, which does not block the event loop. */
export class LibsqlClient implements SqliteClient {
  readonly capabilities;
  readonly target: DriverTarget;
  readonly #source: LibsqlSource;
  readonly #calls = new PendingCalls();
  #client: Client | undefined;
  #file: FileCheck | undefined;
  #isPrepared = false;
  #batches = 0;

  constructor(source: LibsqlSource, tablePrefix: string) {
    this.#source = source;
    const { server } = source;
    this.target = { collection: `${tablePrefix}heads`, ...(server && { server }) };
    this.capabilities = Object.freeze({
      backend: "libsql",
      sharing: ({ memory: "driver", file: "machine", server: "network" } as const)[source.place],
    });
  }

  batch(statements: Statements): Promise<readonly ResultSet["rows"][]> {
    return this.#calls.run(() => this.#whenFree(statements), REQUEST_TIMEOUT_MS);
  }

  close(): Promise<void> {
    return this.#calls.close(() => this.#source.owned && this.#client?.close());
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    const { server } = this.#source;
    return classifyLibsqlError(error, server && hostAndPort(server.address, server.port));
  }

  async #whenFree(statements: Statements): Promise<readonly ResultSet["rows"][]> {
    this.#batches += 1;
    if (this.#batches % BATCHES_AT_ONCE === 0) await otherEvents();
    for (const deadline = performance.now() + BUSY_DEADLINE_MS; ; ) {
      this.#calls.signal.throwIfAborted();
      try {
        return await this.#execute(statements);
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw error;
      }
      await systemClock.sleep(BUSY_PAUSE_MS, this.#calls.signal);
    }
  }

  async #execute(statements: Statements): Promise<readonly ResultSet["rows"][]> {
    const { owned, place } = this.#source;
    this.#client ??= this.#source.open();
    const client = this.#client;
    if (place === "file" && !this.#isPrepared) await this.#prepare(client);
    this.#file?.assertInPlace();
    // A server may send other reads to a replica, and a file needs no lock for a read.
    const isRead = place !== "server" && statements.every(({ sql }) => sql.startsWith("SELECT"));
    if (place === "file" && !isRead) await client.executeMultiple(PROBE);
    try {
      const results = await client.batch(
        statements.map(({ sql, parameters }) => ({ sql, args: [...parameters] })),
        isRead ? "deferred" : "write",
      );
      return results.map(({ rows }) => rows);
    } catch (error) {
      if (owned && isBusy(error)) {
        // Another connection was first since the probe.
        await client.reconnect();
        this.#isPrepared = false;
      }
      throw error;
    }
  }

  async #prepare(client: Client): Promise<void> {
    if (this.#source.owned) await client.executeMultiple(PRAGMAS);
    this.#file ??= await FileCheck.of(client);
    this.#isPrepared = true;
  }
}
