import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";

/** A value of a statement. */
export type Value = string | number | Uint8Array | null;

/** The database file, as the stores use it. Another client needs only another one of these. */
export class SqlClient {
  readonly #path: string;
  #database: DatabaseSync | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Sends one statement, and returns its rows. Waits up to 4 seconds for the lock of another process. */
  async run(sql: string, values: readonly Value[] = []): Promise<Record<string, unknown>[]> {
    for (const began = performance.now(); ; await pause(1 + Math.random() * 20)) {
      try {
        return this.#open()
          .prepare(sql)
          .all(...values);
      } catch (error) {
        if (!isBusy(error) || performance.now() - began > 4_000) throw error;
      }
    }
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  /** A lock is not waited for in the call, which would block the event loop: `timeout` is 0. */
  #open(): DatabaseSync {
    this.#database ??= new DatabaseSync(this.#path, { timeout: 0 });
    return this.#database;
  }
}

/** SQLITE_BUSY. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === 5;
