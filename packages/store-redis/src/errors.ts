import { StoreError } from "@scrollback/store-core";
import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";

const { lost, network, permanent, retryable, tooLarge, unsupported } = errorTable("redis");

/** The server's errors by their first word. */
const errorsByWord: Readonly<Record<string, ErrorClassification>> = {
  READONLY: retryable(
    "the server is a read-only replica; a failover is under way, or url or client must name the primary",
  ),
  LOADING: retryable("the server is loading its data"),
  MASTERDOWN: retryable("the replica has lost its primary"),
  UNBLOCKED: retryable("the server became a replica"),
  CLUSTERDOWN: retryable("the cluster is down, or the slot of this thread is not served"),
  TRYAGAIN: retryable("the slot of this thread is being moved"),
  MOVED: retryable("the slot of this thread was moved"),
  ASK: retryable("the slot of this thread is being moved"),
  NOREPLICAS: retryable("fewer replicas are connected than min-replicas-to-write asks for"),
  BUSY: retryable("the server is busy with another script"),
  OOM: permanent("the server has no memory left; raise maxmemory or remove data"),
  MISCONF: permanent("the server cannot save to its disk and refuses writes; see its log"),
  NOAUTH: permanent(
    "the server asks for a user name and password; those in url or client are missing or wrong",
  ),
  WRONGPASS: permanent("the user name, password or token in url or client is wrong"),
  NOPERM: permanent(
    "the user may not run a command or use a key that the stores need; give it the permissions of the package's documentation",
  ),
  WRONGTYPE: {
    code: "CORRUPT",
    message:
      "keyPrefix: a key of this thread has another type and belongs to another program; use another keyPrefix or remove the key",
  },
};
const unknownCommand = unsupported(
  "the server does not know a command that the stores need; it must be Redis 6.2 or later, or Valkey, with scripts allowed",
);
const tooLargeRequest = tooLarge(
  "the service refused a request or reply of this size; write less in one commit, read with limit, or use a plan that allows more",
);
const unavailableService = retryable("the service is overloaded or not available; see cause");
const foreignService = permanent(
  "the server does not speak Upstash's protocol; client needs the url and token of Upstash's REST API",
);
/** Refusals whose errors have no specific first word: of a new connection, and by limits of Upstash. */
const refusals: readonly (readonly [RegExp, ErrorClassification])[] = [
  [
    /^ERR (DB index is out of range|invalid DB index|SELECT is not allowed)/,
    permanent("the server does not have the database that url or client names; use another one"),
  ],
  [
    /^ERR (AUTH <password> called without any password|Client sent AUTH, but no password)/,
    permanent("the server has no password set; remove the password from url, or use the right server"),
  ],
  [/^ERR max (request|single record|key|member) size exceeded/, tooLargeRequest],
  [
    /^ERR max (daily request|requests) limit exceeded/,
    permanent("the plan's number of requests is used up; use another plan, or wait for the next period"),
  ],
  [
    /^ERR DB capacity quota exceeded/,
    permanent("the plan's storage is full; remove data or use another plan"),
  ],
  [/^ERR max concurrent connections exceeded/, unavailableService],
  [/^ERR Client names cannot/, permanent("the server refused connectionName of client; use another name")],
];
const redirected = retryable("the cluster redirected the call too often; see cause");
/** The message of ioredis for a command that exceeds its `commandTimeout`, and of the stores' own time limit for other clients. */
export const TIMED_OUT = "Command timed out";
/** The error code of OpenSSL for a reply that is not TLS. */
export const PLAIN_SERVER = "ERR_SSL_WRONG_VERSION_NUMBER";
const PLAIN_SERVER_CODES: ReadonlySet<string> = new Set([PLAIN_SERVER, "ERR_SSL_PACKET_LENGTH_TOO_LONG"]);

/** Whether the server replied with an error. Those of node-redis have no name of their own, but begin with a word in capitals. */
export function isErrorReply(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "ReplyError" || (!("code" in error) && /^[A-Z]{2,}[A-Z0-9]* /.test(error.message));
}

/** See `Driver.classifyError`. `server`: the server that the client connects to, if known. */
export function classifyError(error: unknown, server?: string): ErrorClassification | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  if (isErrorReply(error)) return classifyAnswer(message) ?? classifyStatus(error);
  if (isUnreachable(error)) {
    const root = error.cause ?? propertyOf(error, "lastNodeError");
    return classifyError(root, server) ?? lost(root ?? error, server);
  }
  if (message.startsWith("Too many Cluster redirections")) return redirected;
  if (foreignReply.test(message))
    return permanent(
      `${server ?? "the server"} does not speak Redis' protocol; name the port of Redis in url or client`,
    );
  const code = propertyOf(error, "code");
  if (typeof code === "string" && PLAIN_SERVER_CODES.has(code)) {
    const problem = `${server ?? "the server"} answers without TLS; begin url with redis://, or name its TLS port`;
    return permanent(problem);
  }
  return network(error, server);
}

/** The error of a reply over HTTP. @param status of HTTP, unless it is that of one command among several. */
export function replyError(message: string, status?: number): Error {
  return Object.assign(new Error(message), { name: "ReplyError", ...(status !== undefined && { status }) });
}

/** The error of a request over HTTP that had no whole reply: `fetch` has no specific one. */
export function lostConnectionError(cause: unknown): Error {
  return new Error("Connection is closed", { cause });
}

/** The error for a client that has ended: by `quit()`, `disconnect()` or `destroy()`, or because its `retryStrategy` gave up. An earlier attempt of the same call may have been sent. */
export function closedClient(cause: unknown): StoreError {
  return new StoreError(
    "UNAVAILABLE",
    "client: the given client is closed, and the outcome of a write under way is unknown; hand in an open one, or connect it again",
    {
      retryable: false,
      cause,
    },
  );
}

/** Whether an error of a client says that it has no connection. It may not contain the reason. */
export function isUnreachable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    ["MaxRetriesPerRequestError", "ClusterAllFailedError", "AbortError"].includes(error.name) ||
    typeof propertyOf(error, "syscall") === "string" ||
    lostConnection.test(error.message)
  );
}

/** Messages of ioredis 5 and 6 about a reply of another protocol, such as HTTP. */
const foreignReply = /^(Protocol error, got|Unknown RESP type)/;

/** Messages of the clients about a lost or missing connection, in errors without a specific name. */
const lostConnection = new RegExp(
  `^(?:${[
    "Command timed out",
    ...["Connection is closed", "Stream isn't writeable", "Cluster isn't ready", "Cluster is "],
    ...["None of startup nodes", "All sentinels are unreachable", "Failed to refresh slots cache"],
    // Of node-redis.
    ...["Socket closed unexpectedly", "Connection timeout", "Disconnects client", "The client is "],
    ...[
      "All the root nodes are unavailable",
      "None of the sentinels are available",
      "The command was aborted",
    ],
    ...["Cluster closed", "Socket timeout", "no valid master node"],
  ].join("|")})`,
);

function classifyAnswer(message: string): ErrorClassification | undefined {
  if (/\bunknown (Redis )?command\b/i.test(message)) return unknownCommand;
  // The reply to a longer command before the login has succeeded.
  if (/^ERR Protocol error: unauthenticated/.test(message)) return errorsByWord.NOAUTH;
  if (/The user executing the script can't|ACL failure in script/.test(message)) return errorsByWord.NOPERM;
  const refusal = refusals.find(([pattern]) => pattern.test(message));
  if (refusal) return refusal[1];
  // Before version 7 the error of a script begins with the position in the script.
  const word = /^(?:ERR .*@user_script:.*?: -?)?([A-Z]+) /.exec(message)?.[1];
  return word === undefined ? undefined : errorsByWord[word];
}

/** Of a reply over HTTP that has no known error. */
function classifyStatus(error: Error): ErrorClassification | undefined {
  const status = propertyOf(error, "status");
  if (typeof status !== "number" || status === 400) return undefined;
  if (status === 429 || status >= 500) return unavailableService;
  if (status === 401 || status === 403) return errorsByWord.WRONGPASS;
  return status === 413 ? tooLargeRequest : foreignService;
}

function propertyOf(error: Error, name: string): unknown {
  return Reflect.get(error, name);
}

/**
 * Removes the command's arguments from an error of ioredis and from the error inside it. They contain messages, or the
 * password if the login failed.
 */
export function withoutArguments(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  for (const one of [error, propertyOf(error, "lastNodeError")])
    if (one instanceof Error) Reflect.deleteProperty(one, "command");
  return error;
}

export function raise(error: Error): never {
  throw error;
}
