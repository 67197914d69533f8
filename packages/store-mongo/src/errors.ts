import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";
import type { MongoBulkWriteError } from "mongodb";

const table = errorTable("mongodb");
const { network, permanent, retryable, unsupported } = table;

const cutOff = retryable("the server could not reach another server; see cause");
const failover = retryable("the server is not a primary or is shutting down; a failover is running");
const slow = retryable("the server did not finish in time");
const unconfirmed = retryable("too few members confirmed the write in time");
const moving = retryable("the shards are being rearranged");
const overloaded = retryable("the server is overloaded and rejects requests temporarily");
const again = retryable("the server cannot process the request at the moment; see cause");

const login = permanent(
  "the login in url or client was refused: the user name, password, authSource or authMechanism",
);
const forbidden = permanent(
  "the user may not do what the stores need; give it the permissions of the package's documentation",
);
const unsatisfiable = permanent("the members cannot satisfy the write concern of url or client");
const full = permanent("the server's disk is full");
const atlas = permanent(
  "MongoDB Atlas rejected the request because of one of its limits or the login; see cause",
);
const validated = permanent(
  "collectionName: the collection's validator rejects the stores' documents; use another collection",
);
const closed = permanent("client: the given client is closed");

const tooLarge = table.tooLarge("the document is larger than the server accepts");
const view = unsupported("collectionName: it names a view; use a collection");
const otherIndex = unsupported(
  "the collection has another index on until or expiresAt, or another one with the name scrollback_expiry; drop it and run setup() again",
);
const tooOld = unsupported("the server is too old for this version of the driver; see cause");

const DUPLICATE_KEY = 11000;

/** The server's errors by code. */
const errorsByCode: Readonly<Record<number, ErrorClassification>> = {
  6: cutOff, // HostUnreachable
  7: cutOff, // HostNotFound
  11: login, // UserNotFound
  13: forbidden, // Unauthorized
  18: login, // AuthenticationFailed
  43: slow, // CursorNotFound
  50: slow, // MaxTimeMSExpired
  63: moving, // StaleShardVersion
  64: unconfirmed, // WriteConcernTimeout
  79: unsatisfiable, // UnknownReplWriteConcern
  85: otherIndex, // IndexOptionsConflict
  86: otherIndex, // IndexKeySpecsConflict
  89: cutOff, // NetworkTimeout
  91: failover, // ShutdownInProgress
  100: unsatisfiable, // UnsatisfiableWriteConcern
  112: overloaded, // WriteConflict
  121: validated, // DocumentValidationFailure
  133: failover, // FailedToSatisfyReadPreference
  134: failover, // ReadConcernMajorityNotAvailableYet
  150: moving, // StaleEpoch
  166: view, // CommandNotSupportedOnView
  189: failover, // PrimarySteppedDown
  202: slow, // NetworkInterfaceExceededTimeLimit
  262: slow, // ExceededTimeLimit
  334: login, // MechanismUnavailable
  365: overloaded, // TemporarilyUnavailable
  462: overloaded, // IngressRequestRateLimitExceeded
  8000: atlas, // AtlasError
  9001: cutOff, // SocketException
  10058: failover, // LegacyNotPrimary
  10107: failover, // NotWritablePrimary
  10334: tooLarge, // BSONObjectTooLarge
  11600: failover, // InterruptedAtShutdown
  11602: failover, // InterruptedDueToReplStateChange
  13388: moving, // StaleConfig
  13435: failover, // NotPrimaryNoSecondaryOk
  13436: failover, // NotPrimaryOrSecondary
  14031: full, // OutOfDiskSpace
  17419: tooLarge, // the updated document
  17420: tooLarge, // the updated document
};

/** The driver's errors about a missing connection, by name, because the client may be of another copy of the driver. */
const connectionErrors: ReadonlySet<string> = new Set([
  "MongoNetworkError",
  "MongoNetworkTimeoutError",
  "MongoServerSelectionError",
  "MongoPoolClearedError",
  "MongoPoolClosedError",
  "MongoServerClosedError",
  // Another call found no server and reconnects the client.
  "MongoTopologyClosedError",
  "MongoClientClosedError",
]);

/** Whether an insert failed because its key was taken. */
export function isDuplicateKey(error: unknown): boolean {
  return propertyOf(error, "code") === DUPLICATE_KEY;
}

/** Whether an insert of several documents failed only because keys were taken: the others are stored, and confirmed. */
export function areDuplicateKeys(error: unknown): boolean {
  if (!isBulkWriteError(error)) return false;
  const refused = [error.writeErrors].flat();
  const isConfirmed = error.result.getWriteConcernError() === undefined;
  return isConfirmed && refused.length > 0 && refused.every(({ code }) => code === DUPLICATE_KEY);
}

/** By name, because the client may be of another copy of the driver. */
function isBulkWriteError(error: unknown): error is MongoBulkWriteError {
  return error instanceof Error && error.name === "MongoBulkWriteError";
}

/** Whether the client found no server in time. */
export function foundNoServer(error: unknown): boolean {
  return error instanceof Error && error.name === "MongoServerSelectionError";
}

/**
 * See `Driver.classifyError`.
 *
 * @param owned whether the client is the stores' own, which only they close.
 * @param servers the servers that it connects to.
 */
export function classifyError(
  error: unknown,
  owned: boolean,
  servers?: string,
): ErrorClassification | undefined {
  if (!(error instanceof Error)) return undefined;
  const refused = table.certificate(error);
  if (refused) return refused;
  const { name } = error;
  const lost = () => table.unreachable(connectionFailures(error, servers));
  // An error of a socket, which the driver passes on if a write fails on a closing connection, or of a DNS look-up.
  if (!name.startsWith("Mongo")) return network(error, servers);
  if (name === "MongoNotConnectedError") return owned ? lost() : closed;
  const code = propertyOf(error, "code");
  // All errors of the driver during an insert of several documents become this one, without a code.
  if (name === "MongoBulkWriteError" && code === undefined) return lost();
  const answer = typeof code === "number" ? errorsByCode[code] : undefined;
  if (answer) return answer;
  if (connectionErrors.has(name)) return lost();
  if (name === "MongoWaitQueueTimeoutError") return noConnectionFree(propertyOf(error, "address") ?? servers);
  if (name === "MongoCompatibilityError") return tooOld;
  return isRetryable(error) ? again : undefined;
}

/** The reason of each server, if no server was found. */
function connectionFailures(
  error: Error,
  servers: string | undefined,
): Parameters<typeof table.unreachable>[0] {
  const looked: unknown = Reflect.get(Object(propertyOf(error, "reason")), "servers");
  const failures = looked instanceof Map ? [...looked] : [];
  if (failures.length === 0) return [{ server: servers, error }];
  return failures.map(([server, description]) => ({
    server: String(server),
    error: Reflect.get(Object(description), "error") ?? error,
  }));
}

/** A server that no longer replies keeps all connections busy, so the cause cannot be told from too small a pool. */
function noConnectionFree(server: unknown = "the server"): ErrorClassification {
  return retryable(
    `no connection to ${server} became free in time (timeout): the server does not reply, or maxPoolSize of the client is too small`,
  );
}

/** Whether the server's labels allow a retry of the same request, independent of its code. */
function isRetryable(error: Error): boolean {
  const labels = propertyOf(error, "errorLabels");
  return (
    Array.isArray(labels) && ["RetryableWriteError", "RetryableError"].some((label) => labels.includes(label))
  );
}

function propertyOf(error: unknown, name: string): unknown {
  return error instanceof Error ? Reflect.get(error, name) : undefined;
}
