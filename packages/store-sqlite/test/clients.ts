import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";

/**
 * How tests open a client of each kind. Within one process a file may be open by one kind only: two copies of SQLite lose each other's
 * locks.
 */
export const clients: readonly {
  readonly kind: string;
  open(path: string, options?: { readOnly?: boolean; timeout?: number }): DatabaseSync | Database.Database;
}[] = [
  {
    kind: "node:sqlite",
    open: (path: string, { readOnly = false, timeout = 0 } = {}) =>
      new DatabaseSync(path, { readOnly, timeout }),
  },
  {
    kind: "better-sqlite3",
    open: (path: string, { readOnly = false, timeout = 0 } = {}) =>
      new Database(path, { readonly: readOnly, timeout }),
  },
];
