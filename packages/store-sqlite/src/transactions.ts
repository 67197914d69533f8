import type { DatabaseSync } from "node:sqlite";
import { prepareCommand } from "./statements.ts";

/** The transactions of one connection. */
export class Transactions {
  readonly #beginRead: () => void;
  readonly #beginWrite: () => void;
  readonly #commit: () => void;
  readonly #rollback: () => void;

  constructor(database: DatabaseSync) {
    this.#beginRead = prepareCommand(database, "BEGIN");
    // Takes the write lock at once: after a first read, the lock would be refused if another connection had written since.
    this.#beginWrite = prepareCommand(database, "BEGIN IMMEDIATE");
    this.#commit = prepareCommand(database, "COMMIT");
    this.#rollback = prepareCommand(database, "ROLLBACK");
  }

  /** Runs a step that reads one consistent state of the database. */
  read<T>(step: () => T): T {
    return this.#run(this.#beginRead, step);
  }

  /** Runs a writing step while no other connection writes. If it throws, nothing is written. */
  write<T>(step: () => T): T {
    return this.#run(this.#beginWrite, step);
  }

  #run<T>(begin: () => void, step: () => T): T {
    begin();
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
