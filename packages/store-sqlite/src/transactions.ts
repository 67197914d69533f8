import type { WithoutTimeout } from "./busy-timeout.ts";
import type { Connection } from "./clients/index.ts";
import type { FileCheck } from "./file-check.ts";

/** The transactions of one connection. */
export class Transactions {
  readonly #begin: { readonly read: () => void; readonly write: () => void };
  readonly #commit: () => void;
  readonly #rollback: () => void;
  readonly #withoutTimeout: WithoutTimeout;
  readonly #file: FileCheck | undefined;

  /** @param file absent: the database has no file that could be moved. */
  constructor(connection: Connection, withoutTimeout: WithoutTimeout, file?: FileCheck | undefined) {
    this.#begin = {
      read: connection.command("BEGIN"),
      // Takes the write lock at once: after a first read, the lock would be refused if another connection had written since.
      write: connection.command("BEGIN IMMEDIATE"),
    };
    this.#commit = connection.command("COMMIT");
    this.#rollback = connection.command("ROLLBACK");
    this.#withoutTimeout = withoutTimeout;
    this.#file = file;
  }

  /**
   * Runs a step that reads one consistent state of the database, or writes while no other connection does. If it throws, nothing is
   * written.
   *
   * @throws StoreError `UNAVAILABLE` if the file is no longer at its path.
   */
  run<T>(mode: "read" | "write", step: () => T): T {
    this.#file?.assertInPlace();
    return this.#withoutTimeout(() => this.#run(mode, step));
  }

  #run<T>(mode: "read" | "write", step: () => T): T {
    this.#begin[mode]();
    try {
      const result = step();
      this.#commit();
      return result;
    } catch (error) {
      try {
        this.#rollback();
      } catch {
        // After some errors, for example a full disk, SQLite has already rolled back.
      }
      throw error;
    }
  }
}
