import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";

const { lost, network, permanent, retryable, tooLarge, unsupported } = errorTable("mariadb");

const login = permanent(
  "the login in url or client was rejected; check the user name, the password and the host",
);
const privileges = permanent(
  "the user needs the privileges SELECT, INSERT, UPDATE and DELETE on the three tables; grant them",
);
const conflict = retryable("the statement conflicted with another one; see cause");
const full = permanent("the server's disk is full");
const slow = retryable("the server cancelled the request, for example by max_statement_time; see cause");
const readOnly = retryable("the server is read-only: a replica; url or client must lead to the primary");
const connections = retryable(
  "the server has too many connections; raise max_connections or lower the pools' connectionLimit",
);
const otherTable = unsupported(
  "the table has other columns or another primary key than the stores need; use another table, or let setup() create it",
);
/** Another connection of the pool may be in none. */
const inTransaction = retryable(
  "client: its connections must commit each statement by themselves; set autocommit=1, and end each transaction before the connection goes back",
);
const packet = tooLarge("the request is larger than the server's max_allowed_packet; raise it");

/** The server's errors by number. `mysql2` gives some the names of other errors, of MySQL. */
const errorsByNumber: Readonly<Record<number, ErrorClassification>> = {
  1021: full, // ER_DISK_FULL
  1040: connections, // ER_CON_COUNT_ERROR
  1044: login, // ER_DBACCESS_DENIED_ERROR
  1045: login, // ER_ACCESS_DENIED_ERROR
  1047: retryable("the node of the cluster is not ready"), // ER_UNKNOWN_COM_ERROR of Galera
  1049: permanent("the database does not exist; create it, or name another one in url or client"), // ER_BAD_DB_ERROR
  1054: otherTable, // ER_BAD_FIELD_ERROR
  1064: unsupported("the server does not understand the stores' SQL; it must be MariaDB; see cause"), // ER_PARSE_ERROR
  1114: full, // ER_RECORD_FILE_FULL
  1130: login, // ER_HOST_NOT_PRIVILEGED
  1142: privileges, // ER_TABLEACCESS_DENIED_ERROR
  1143: privileges, // ER_COLUMNACCESS_DENIED_ERROR
  1146: { ...permanent("the table does not exist in this database; run setup()"), isMissing: true }, // ER_NO_SUCH_TABLE
  1153: packet, // ER_NET_PACKET_TOO_LARGE
  1176: otherTable, // ER_KEY_DOES_NOT_EXITS
  1203: connections, // ER_TOO_MANY_USER_CONNECTIONS
  1205: conflict, // ER_LOCK_WAIT_TIMEOUT
  1213: conflict, // ER_LOCK_DEADLOCK
  1226: connections, // ER_USER_LIMIT_REACHED
  1227: privileges, // ER_SPECIFIC_ACCESS_DENIED_ERROR
  1290: readOnly, // ER_OPTION_PREVENTS_STATEMENT
  1317: slow, // ER_QUERY_INTERRUPTED
  1406: otherTable, // ER_DATA_TOO_LONG
  1698: login, // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
  1792: readOnly, // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
  1969: slow, // ER_STATEMENT_TIMEOUT
};

/** After these, the server closes the connection: it stops, the connection was killed, or idle for too long. */
const closing: readonly number[] = [1053, 1927, 4031];

/** A reply on a connection that is in a transaction: nobody commits it. */
export class OpenTransactionError extends Error {
  override readonly name = "OpenTransactionError";
}

/** An error of the server, without its message and its statement: both show values of the row. */
class ServerError extends Error {
  override readonly name = "ServerError";
  readonly errno: number;
  readonly code: string;

  constructor(errno: number, code: string) {
    super(`${code} (${errno})`);
    this.errno = errno;
    this.code = code;
  }
}

/** An error that is safe to show: one of the server is made anew, because its stack has its message. */
export function withoutValues(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const errno: unknown = Reflect.get(error, "errno");
  // Node's numbers are negative.
  if (typeof errno !== "number" || errno < 1000) return error;
  return new ServerError(errno, String(Reflect.get(error, "code")));
}

export const isKeyTaken = (error: unknown) => error instanceof ServerError && error.errno === 1062;
export const isTableMissing = (error: unknown) => error instanceof ServerError && error.errno === 1146;

/** Messages of mysql2, without a code, about a pool without a free connection. */
const busyPool = /^(?:No connections available|Queue limit reached)/;

/**
 * See `DocumentDatabase.classifyError`.
 *
 * @param server the server that the client connects to, `host:port`.
 * @param owned whether the factory opened the pool.
 */
export function classifyError(
  raw: unknown,
  server: string | undefined,
  owned: boolean,
): ErrorClassification | undefined {
  const error = withoutValues(raw);
  if (!(error instanceof Error)) return undefined;
  if (error instanceof OpenTransactionError) return inTransaction;
  if (error instanceof ServerError)
    return closing.includes(error.errno) ? lost(error, server) : errorsByNumber[error.errno];
  const code = String(Reflect.get(error, "code"));
  const { message, name } = error;
  if (code === "HANDSHAKE_NO_SSL_SUPPORT")
    return permanent("the server does not speak TLS; leave ssl out of url or client");
  // mysql2 replaces the code of the error of TLS. That of a lost connection has a system call.
  if (code === "HANDSHAKE_SSL_ERROR" && !Reflect.has(error, "syscall"))
    return permanent("the server's TLS certificate was refused; see cause");
  if (/^AUTH_SWITCH_PLUGIN_ERROR$|^MYSQL_CLEAR_PASSWORD/.test(code)) return login;
  if (message === "Pool is closed.")
    return owned ? lost(error, server) : permanent("client: the given pool was ended");
  if (busyPool.test(message)) return retryable("the pool has no free connection; raise its connectionLimit");
  if (name === "TimeoutError" || isLost(error)) return lost(error, server);
  return network(error, server);
}

/** See `ConnectionPool.isReply`. */
export function isReply(raw: unknown): boolean {
  const error = withoutValues(raw);
  return error instanceof ServerError && !closing.includes(error.errno);
}

/** Whether mysql2 or a socket says that a connection was lost. */
function isLost(error: Error): boolean {
  return (
    ["ECONNRESET", "EPIPE", "PROTOCOL_CONNECTION_LOST"].includes(String(Reflect.get(error, "code"))) ||
    /in closed state/.test(error.message)
  );
}
