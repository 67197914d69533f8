import { StoreError } from "@scrollback/store-core";
import type { ErrorClassification } from "@scrollback/store-core/driver";
import { resultCode } from "./clients/index.ts";

const busy: ErrorClassification = {
  code: "UNAVAILABLE",
  retryable: true,
  message:
    "sqlite: the database stayed locked for 10 seconds; look for a long transaction in another process or on the client",
};

const damaged: ErrorClassification = {
  code: "CORRUPT",
  message: "sqlite: the database file is damaged; check it with PRAGMA integrity_check and restore a copy",
};

/** Rows are damaged, but not the file. */
const damagedRows: ErrorClassification = {
  code: "CORRUPT",
  message: rowsProblem("they contradict each other"),
};

/** The errors by the name of their primary result code, see https://sqlite.org/rescode.html. */
const errorsByCode: Readonly<Record<string, ErrorClassification>> = {
  SQLITE_BUSY: busy,
  SQLITE_LOCKED: busy,
  SQLITE_PROTOCOL: busy,
  SQLITE_READONLY: {
    code: "UNAVAILABLE",
    message: "sqlite: the database is read-only; give this user write access to the file and its directory",
  },
  SQLITE_IOERR: {
    code: "UNAVAILABLE",
    message: "sqlite: the disk failed to read or write, or is full; see cause",
  },
  SQLITE_CORRUPT: damaged,
  SQLITE_CONSTRAINT: damagedRows,
  SQLITE_FULL: {
    code: "UNAVAILABLE",
    message: "sqlite: the disk is full; nothing was written, free some space and retry",
  },
  SQLITE_CANTOPEN: {
    code: "UNAVAILABLE",
    message:
      "sqlite: the database file cannot be opened; it must be a file, and this user needs write access to it and its directory",
  },
  SQLITE_TOOBIG: { code: "TOO_LARGE", message: "sqlite: the database's own limit on a value is too low" },
  // A number that no version of this package writes.
  SQLITE_MISMATCH: damagedRows,
  SQLITE_MISUSE: { code: "UNAVAILABLE", message: "client: the given database is closed" },
  SQLITE_NOTADB: {
    code: "CORRUPT",
    message: "sqlite: the file is not a SQLite database, or it is encrypted; use another file",
  },
};

/** Whether the database is only locked by another connection or transaction. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && (errorsByCode[code] === busy || isInTransaction(code, error));
}

/** Whether a caller's client is in a transaction of the caller. */
function isInTransaction(code: string, error: unknown): boolean {
  return code === "SQLITE_ERROR" && messageOf(error).includes("within a transaction");
}

/** Classifies an error of SQLite; returns undefined for any other error. */
export function classifySqliteError(error: unknown): ErrorClassification | undefined {
  const code = resultCode(error);
  if (code === undefined) return undefined;
  if (isInTransaction(code, error)) return busy;
  if (
    code === "SQLITE_ERROR" &&
    /no such (table|column)|has \d+ columns|already exists/.test(messageOf(error))
  ) {
    return {
      code: "UNSUPPORTED",
      message:
        "sqlite: the tables are not those of this version of @scrollback/store-sqlite; upgrade it, or choose another tablePrefix if the tables are not Scrollback's",
    };
  }
  return errorsByCode[code];
}

/** The error for a clear or a deletion that is complete for readers, but has left rows. */
export function rowsLeft(cause: unknown): StoreError {
  const known = StoreError.is(cause) ? cause : classifySqliteError(cause);
  return new StoreError(
    "UNAVAILABLE",
    `sqlite: no reader sees the content any more, but some of it is still in the file; repeat the call: ${known?.message ?? "see cause"}`,
    { cause, retryable: known?.retryable },
  );
}

/** The error for a thread whose rows are damaged or partly missing. */
export function damagedThread(problem: string): StoreError {
  return new StoreError("CORRUPT", rowsProblem(problem));
}

function rowsProblem(problem: string): string {
  return `sqlite: rows of the thread are damaged: ${problem}; restore a copy of the database, or delete the thread`;
}

/** The error for a database file that cannot be created. */
export function fileError(error: unknown, path: string): StoreError {
  const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
  return new StoreError(
    "UNAVAILABLE",
    missing
      ? `url: the directory of "${path}" does not exist; create it first`
      : `url: "${path}" cannot be created; this user needs write access to its directory`,
    { cause: error },
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
