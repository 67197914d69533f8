import { hasMethods } from "@scrollback/store-core/driver";
import type { Connection, Value, Values } from "./connection.ts";

/** A `Database` of better-sqlite3, or of a package with the same interface. */
export interface BetterSqlite3Database {
  readonly open: boolean;
  prepare(sql: string): BetterSqlite3Statement;
  exec(sql: string): unknown;
  pragma(sql: string): unknown;
  defaultSafeIntegers(isDefault?: boolean): unknown;
  close(): unknown;
}

interface BetterSqlite3Statement {
  get(...parameters: unknown[]): unknown;
  all(...parameters: unknown[]): unknown[];
  run(...parameters: unknown[]): unknown;
  raw(isRaw?: boolean): unknown;
  safeIntegers(isSafe?: boolean): unknown;
}

/** A connection by better-sqlite3. */
export class BetterSqlite3Connection implements Connection {
  readonly #database: BetterSqlite3Database;

  constructor(database: BetterSqlite3Database) {
    this.#database = database;
  }

  first(sql: string): (...parameters: Value[]) => Values | undefined {
    const query = this.#prepareQuery(sql);
    return (...parameters) => {
      const row = query.get(...parameters) as ReadValues | undefined;
      return row && toValues(row);
    };
  }

  all(sql: string): (...parameters: Value[]) => readonly Values[] {
    const query = this.#prepareQuery(sql);
    return (...parameters) => (query.all(...parameters) as ReadValues[]).map(toValues);
  }

  command(sql: string): (...parameters: Value[]) => void {
    const statement = this.#database.prepare(sql);
    // Not `get`, which refuses a statement without rows.
    return (...parameters) => {
      statement.run(...parameters);
    };
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  close(): void {
    this.#database.close();
  }

  #prepareQuery(sql: string): BetterSqlite3Statement {
    const query = this.#database.prepare(sql);
    query.raw(true);
    // As a number, a large integer would be rounded.
    query.safeIntegers(true);
    return query;
  }
}

type ReadValues = readonly (Value | bigint)[];

/** @throws RangeError `SQLITE_MISMATCH` for an integer that is not safe, as `node:sqlite` does. */
function toValues(row: ReadValues): Values {
  return row.map((value) => {
    if (typeof value !== "bigint") return value;
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw Object.assign(new RangeError("the integer is not safe"), { code: "SQLITE_MISMATCH" });
  });
}

/** Whether a value is an open database. */
export function isBetterSqlite3(value: unknown): value is BetterSqlite3Database {
  const isDatabase = hasMethods("prepare", "exec", "pragma", "defaultSafeIntegers")(value) === undefined;
  return isDatabase && (value as BetterSqlite3Database).open;
}

/** The name of the primary result code of an error of better-sqlite3; undefined for any other error. */
export function betterSqlite3Code(error: Error): string | undefined {
  if (error instanceof TypeError) {
    if (error.message.includes("connection is not open")) return "SQLITE_MISUSE";
    // The caller iterates over a query: the connection is free when the iteration has ended.
    return error.message.includes("connection is busy") ? "SQLITE_BUSY" : undefined;
  }
  return "code" in error && typeof error.code === "string"
    ? /^SQLITE_[A-Z]+/.exec(error.code)?.[0]
    : undefined;
}
