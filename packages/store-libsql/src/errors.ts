import { LibsqlError } from "@libsql/client";
import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";

const { permanent, retryable, lost, network } = errorTable("libsql");

const cannotOpen = permanent(
  "the file cannot be opened; it must be a file in a directory that exists, and this user needs write access to both",
);

/** The errors by the code of a LibsqlError. Those that SQLite itself reports, but for these, are known to `SqliteDocuments`. */
const errorsByCode: Readonly<Record<string, ErrorClassification>> = {
  CLIENT_CLOSED: permanent("the given client is closed"),
  SQLITE_BUSY: retryable("the file stayed locked; look for a long transaction in another process"),
  SQLITE_LOCKED: retryable("the file stayed locked; look for a long transaction on the client"),
  TRANSACTION_ACTIVE: retryable("the client's connections are held by open transactions"),
  SQLITE_CANTOPEN: cannotOpen,
  SQLITE_IOERR: permanent("the disk failed to read or write, or is full; see cause"),
};

/** Whether the file is only locked by another connection. */
export function isBusy(error: unknown): boolean {
  return error instanceof LibsqlError && (error.code === "SQLITE_BUSY" || error.code === "SQLITE_LOCKED");
}

/**
 * See `Driver.classifyError`.
 *
 * @param server `host:port`; undefined if it is not known, or the database is a file.
 */
export function classifyLibsqlError(error: unknown, server?: string): ErrorClassification | undefined {
  if (error instanceof LibsqlError) {
    if (error.code.startsWith("URL_"))
      return permanent("the path of the file is rejected by @libsql/client; see cause");
    // Over HTTP, and when a WebSocket opens.
    if (/(?:HTTP status|Unexpected server response:) 40[13]/.test(error.message))
      return permanent("the server refused the authToken of url");
    if (/HTTP status (?:429|5)/.test(error.message)) return retryable("the server failed; see cause");
    if (error.code === "HRANA_WEBSOCKET_ERROR") return lost(error, server);
    return errorsByCode[error.code] ?? network(error, server);
  }
  // The client gives it no code.
  if (error instanceof Error && error.message.includes("Unable to open connection to local database"))
    return cannotOpen;
  if (error instanceof Error && error.name === "TimeoutError")
    return server === undefined ? retryable("no reply in time (timeout)") : lost(error, server);
  return network(error, server);
}
