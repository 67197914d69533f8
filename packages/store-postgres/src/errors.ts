import { StoreError } from "@scrollback/store-core";
import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";

const { lost, network, permanent, retryable, tooLarge, unsupported } = errorTable("postgres");

const login = permanent(
  "the login in url or client was rejected; check the user name, the password and pg_hba.conf",
);
const shutdown = retryable("the server is starting or shutting down; a failover may be under way");
const conflict = retryable("the statement conflicted with another transaction; see cause");
const conflictInTransaction = retryable(
  "the transaction conflicted with another one; roll it back and repeat all of it",
);
const slow = retryable("the server cancelled the request, for example by statement_timeout; see cause");
const locked = retryable("another transaction holds the thread or entry for more than 3 seconds; see cause");
/** Also found by `setup()`. */
export const otherTable = unsupported(
  "the schema has other tables or functions than the stores need; name a schema of its own in the option schema, or run setup()",
);
const notSetUp: ErrorClassification = {
  ...permanent(
    "the schema lacks tables or functions that the stores need; run setup(), set the option setup, or run the migrations that the package's documentation names",
  ),
  isMissing: true,
};
const encoding = unsupported(
  "the database cannot hold a character of the message; its encoding must be UTF8: create it with ENCODING 'UTF8'",
);
/** Also found by `setup()`, which does not write to an existing table. */
export const readOnly = retryable(
  "the server is read-only: a standby, or default_transaction_read_only; url or client must lead to the primary",
);
const noTls = permanent("the server does not speak TLS; name its TLS port, or set sslmode in url");
const clientLost = permanent(
  "client: the given Client has lost its connection or was ended; use a Pool, which reconnects",
);
const inTransaction = permanent(
  "client: a statement in the transaction of the given Client failed; roll back",
);
/** Another connection of the pool may be in none. */
const leftInTransaction = retryable(
  "client: the given Pool has connections in transactions that were never ended; roll back each before its connection goes back",
);
/** Native bindings before pg 8.21. What is written in a transaction that its owner left open would be lost. */
export const untoldState = unsupported(
  "client: the given Pool does not tell whether a connection is in a transaction; use pg without native bindings, or pg 8.21 or newer",
);
/** Found by the second PGlite. */
export const folderInUse = unsupported(
  "client: another PGlite of this process has the same folder open, and two damage it; use one PGlite, or close the other",
);
const held = retryable(
  "the PGlite answered nothing for 10 seconds: a transaction on it is open; within client.transaction() pass the transaction as client",
);
/** Raised by `hidden_v1`. */
const hiddenRow = (table: string) =>
  permanent(
    `a policy or a trigger of the table ${table} hides a row of the thread or entry from the user, or leaves its write out; nothing was written; let the user read and write all rows of its tenant`,
  );
/** Raised by `tenant_v1`: clients send UTF-8, whatever another user of the connection has set. */
const clientEncoding = unsupported(
  "the connection's client_encoding must be UTF8; a SET client_encoding is left over on it: run RESET client_encoding",
);
/** The server compares a table's publications with its replica identity before each update and deletion. */
const publication = permanent(
  "a publication of the schema's tables has a column list without the primary key, or a row filter of other columns, so the server refuses updates or deletions; publish all columns and rows; see cause",
);
const clientClosed = permanent("client: the given Pool was ended");

/** The server's errors by SQLSTATE. */
const errorsBySqlState: Readonly<Record<string, ErrorClassification>> = {
  "0A000": unsupported("the server cannot do what the stores need; see cause"), // feature_not_supported
  "22021": encoding, // character_not_in_repertoire
  "22P05": encoding, // untranslatable_character
  "23505": {
    code: "CORRUPT",
    message: "postgres: the thread is damaged: it has messages that its row does not count; delete it",
  }, // unique_violation
  "23514": permanent("the setting scrollback.tenant must have at most 128 bytes, and no U+001E"), // check_violation
  "25006": readOnly, // read_only_sql_transaction
  "25P02": inTransaction, // in_failed_sql_transaction
  "28000": login, // invalid_authorization_specification
  "28P01": login, // invalid_password
  "3D000": permanent("the database of url or client does not exist"), // invalid_catalog_name
  "3F000": notSetUp, // invalid_schema_name
  "40001": conflict, // serialization_failure
  "40P01": conflict, // deadlock_detected
  "42501": permanent(
    "the user may not do what the stores need; give it the privileges of the package's documentation",
  ), // insufficient_privilege
  "42601": unsupported("the server does not understand the stores' SQL; it must be PostgreSQL; see cause"), // syntax_error
  "42703": otherTable, // undefined_column
  "42704": unsupported(
    "the database has no type vector, which a search by vectors needs; install pgvector and run CREATE EXTENSION vector",
  ), // undefined_object
  "42710": otherTable, // duplicate_object
  "42723": otherTable, // duplicate_function
  "42804": otherTable, // datatype_mismatch
  "42883": notSetUp, // undefined_function
  "42P01": notSetUp, // undefined_table
  "42P07": otherTable, // duplicate_table
  "42P13": otherTable, // invalid_function_definition: a function with other results
  "42P10": otherTable, // invalid_column_reference: no unique constraint on the keys
  "53100": permanent("the server's disk is full"), // disk_full
  "53200": retryable("the server has no memory left"), // out_of_memory
  "53300": retryable("the server has too many connections; raise max_connections or lower the pools' max"), // too_many_connections
  "54000": tooLarge("the row is larger than the server accepts; nothing was written"), // program_limit_exceeded
  "55P03": locked, // lock_not_available
  "57014": slow, // query_canceled
  "57P01": shutdown, // admin_shutdown
  "57P02": shutdown, // crash_shutdown
  "57P03": shutdown, // cannot_connect_now
  "58000": retryable("the server's system failed; see cause"), // system_error
  "58030": retryable("the server could not read or write its files; see cause"), // io_error
  SB002: clientEncoding,
};

/** Messages of pg, without a code, about a lost connection, a connection timeout or a missing reply. */
const lostMessages =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|connection timeout|Client was closed)/i;
const unusableClient = /^Client (?:has encountered a connection error|was closed and is not queryable)/;

/** A reply on a connection that is in a transaction: nobody commits it, and it reads an older state. */
export class OpenTransactionError extends Error {
  override readonly name = "OpenTransactionError";
}

/** A PGlite that does not answer, because a transaction on it is open. */
export class HeldError extends Error {
  override readonly name = "HeldError";
}

/** What a request is sent on: a pool of the stores, a pool or one connection that was handed in, or an embedded database. */
export type ClientKind = "own pool" | "pool" | "connection" | "embedded";

/**
 * See `Driver.classifyError`.
 *
 * @param server the server that the client connects to, `host:port`.
 */
export function classifyError(
  error: unknown,
  server: string | undefined,
  kind: ClientKind,
): ErrorClassification | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof OpenTransactionError) return leftInTransaction;
  if (error instanceof HeldError) return held;
  const state = sqlStateOf(error);
  if (state === "SB001") return hiddenRow(String(Reflect.get(error, "table")));
  // By the name of the server's function: the texts are in the server's language, and another error has the same SQLSTATE.
  if (state && Reflect.get(error, "routine") === "CheckCmdReplicaIdentity") return publication;
  if (state) {
    const known = Object.hasOwn(errorsBySqlState, state) ? errorsBySqlState[state] : undefined;
    if (known === conflict && kind === "connection") return conflictInTransaction;
    if (known === inTransaction && kind === "pool") return leftInTransaction;
    if (known) return known;
    // Class 08 are connection exceptions; a pooler without a server for the connection reports 57P.
    return state.startsWith("08") || state.startsWith("57P") ? lost(error, server) : undefined;
  }
  const { message, name } = error;
  if (/does not support SSL/.test(message)) return noTls;
  if (/SASL|password must be a string|no password/i.test(message)) return login;
  if (/^Cannot use a pool after calling end/.test(message))
    return kind === "own pool" ? lost(error, server) : clientClosed;
  if (kind === "connection" && unusableClient.test(message)) return clientLost;
  if (name === "TimeoutError" || lostMessages.test(message) || unusableClient.test(message))
    return lost(error, server);
  return network(error, server);
}

/**
 * See `ConnectionPool.isReply`. After some replies the connection closes (08, 57P), leads to a server that is read-only now (25006), or is in
 * a transaction (25P02), which closing it rolls back.
 */
export function isReply(error: unknown): boolean {
  const state = error instanceof Error ? sqlStateOf(error) : undefined;
  return state !== undefined && !/^(?:08|25|57P)/.test(state);
}

/** Whether a row with the same key is there. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && sqlStateOf(error) === "23505";
}

/** Removes the values of a row from an error: a violated constraint shows the whole row. */
export function withoutValues(error: unknown): unknown {
  if (error instanceof Error && sqlStateOf(error))
    for (const name of ["detail", "where", "internalQuery"]) Reflect.deleteProperty(error, name);
  return error;
}

/** The SQLSTATE of an error from the server. */
function sqlStateOf(error: Error): string | undefined {
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && Reflect.has(error, "severity")
    ? code
    : undefined;
}

/** The error that `setup()` throws for a server that it refuses. */
export function refusal({ code, message, retryable = false }: ErrorClassification): StoreError {
  return new StoreError(code, message, { retryable });
}
