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
    // Takes the write lock at once: a lock asked for after the first read would be refused whenever another wrote since.
    this.#beginWrite = prepare(database, "BEGIN IMMEDIATE");
    this.#commit = prepare(database, "COMMIT");
    this.#rollback = prepare(database, "ROLLBACK");
  }

  /** Runs a step that sees one state of the database. */
  read<T>(step: () => T): T {
    return this.#run(this.#beginRead, step);
  }

  /** Runs a step that writes, alone among all connections. When it throws, nothing was written. */
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
        // After some errors (a full disk, for one) SQLite has rolled back by itself.
      }
      throw error;
    }
  }
}
