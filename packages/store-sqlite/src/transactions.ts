import type { DatabaseSync, StatementSync } from "node:sqlite";
import { prepare } from "./statements.ts";

/** The transactions of one connection. */
export class Transactions {
  readonly #beginRead: StatementSync;
  readonly #beginWrite: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;

  constructor(database: DatabaseSync) {
    this.#beginRead = prepare(database, "BEGIN");
    // Takes the write lock at once: after a first read, the lock would be refused if another connection had written since.
    this.#beginWrite = prepare(database, "BEGIN IMMEDIATE");
    this.#commit = prepare(database, "COMMIT");
    this.#rollback = prepare(database, "ROLLBACK");
  }

  /** Runs a step that reads one consistent state of the database. */
  read<T>(step: () => T): T {
    return this.#run(this.#beginRead, step);
  }

  /** Runs a writing step while no other connection writes. If it throws, nothing is written. */
  write<T>(step: () => T): T {
    return this.#run(this.#beginWrite, step);
  }

  #run<T>(begin: StatementSync, step: () => T): T {
    begin.run();
    try {
      const result = step();
      this.#commit.run();
      return result;
    } catch (error) {
      try {
        this.#rollback.run();
      } catch {
        // After some errors, for example a full disk, SQLite has already rolled back.
      }
      throw error;
    }
  }
}
