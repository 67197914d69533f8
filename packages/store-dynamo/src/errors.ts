import {
  type CancellationReason,
  ConditionalCheckFailedException,
  TransactionCanceledException,
} from "@aws-sdk/client-dynamodb";
import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";
import { PARTITION_KEY, SHARD_ATTRIBUTE, SORT_KEY, THREAD_INDEX } from "./item.ts";

const table = errorTable("dynamodb");
const { lost, network, permanent, retryable } = table;

const throttled = retryable(
  "requests are throttled: the table, or the partition of a busy thread, is at the limit of its throughput",
);
const crowded = retryable(
  "other transactions, or throttling, cancelled the write each time: the thread is busy",
);
const troubled = retryable("the service failed to answer; see cause");
const refused = permanent(
  "the credentials were rejected; check the AWS SDK's credentials and the machine's clock",
);
const absent = permanent(
  "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or a role, or hand in a client",
);
const expired = permanent("the credentials have expired; renew them");
const noRegion = permanent("no region is known; put ?region=… into url, set AWS_REGION or hand in a client");

const throttling: ReadonlySet<string> = new Set([
  "ProvisionedThroughputExceededException",
  "ThrottlingException",
  "RequestLimitExceeded",
  "LimitExceededException",
  "TooManyRequestsException",
]);

/** The errors of DynamoDB and of the SDK by name. */
const errorsByName: Readonly<Record<string, ErrorClassification>> = {
  InternalServerError: troubled,
  ServiceUnavailable: troubled,
  ServiceUnavailableException: troubled,
  TransactionConflictException: troubled,
  TransactionInProgressException: troubled,
  // Of a token that another request has. The next attempt looks at what was written, and takes a new one.
  IdempotentParameterMismatchException: troubled,
  ReplicatedWriteConflictException: retryable("another region wrote to the thread at the same time"),
  ResourceInUseException: retryable("the table is being created, changed or deleted"),
  ResourceNotFoundException: {
    ...permanent(
      "the table does not exist in this account and region; run setup(), or create it from the definition in the package's documentation",
    ),
    isMissing: true,
  },
  AccessDeniedException: permanent(
    "the credentials do not allow an action that the stores need; give them the policy of the package's documentation",
  ),
  UnrecognizedClientException: refused,
  InvalidSignatureException: refused,
  IncompleteSignatureException: refused,
  SignatureDoesNotMatch: refused,
  InvalidClientTokenId: refused,
  MissingAuthenticationToken: refused,
  MissingAuthenticationTokenException: refused,
  ExpiredToken: expired,
  ExpiredTokenException: expired,
  CredentialsProviderError: absent,
  TokenProviderError: absent,
};

const tooLarge = table.tooLarge("an item is larger than DynamoDB accepts; nothing was written");
/** The table belongs to another program. */
export const otherTable = {
  code: "UNSUPPORTED",
  message: `dynamodb: the table has other keys than the stores need: partition key "${PARTITION_KEY}" (string), sort key "${SORT_KEY}" (string); use another table`,
} as const satisfies ErrorClassification;
/** The table of entries, whose local index cannot be added later. */
export const otherEntries = {
  code: "UNSUPPORTED",
  message:
    "dynamodb: the table of entries has other keys than the stores need, or no local index; create it from the definition in the package's documentation",
} as const satisfies ErrorClassification;

const noIndex: ErrorClassification = {
  code: "UNSUPPORTED",
  message: `dynamodb: the table has no index "${THREAD_INDEX}", which listThreads() needs; add it: partition key "${SHARD_ATTRIBUTE}" (string), sort key "${PARTITION_KEY}" (string), projection KEYS_ONLY`,
};
const indexInWork = retryable(
  `DynamoDB is still filling the index "${THREAD_INDEX}", which listThreads() needs`,
);

/** Timeouts of the SDK, and of a service that received no complete request. */
const timeouts: ReadonlySet<string> = new Set(["TimeoutError", "RequestTimeout", "RequestTimeoutException"]);

/** See `Driver.classifyError`. `server`: the endpoint of the requests. */
export function classifyError(error: unknown, server?: string): ErrorClassification | undefined {
  if (!(error instanceof Error)) return undefined;
  const { name, message } = error;
  if (isThrottled(error)) return throttled;
  if (isBusy(error)) return crowded;
  if (timeouts.has(name)) return lost(error, server);
  if (Object.hasOwn(errorsByName, name)) return errorsByName[name];
  if (name === "ValidationException") return classifyRefusal(message);
  const invalid = reasonsOf(error).find(({ Code }) => Code === "ValidationError");
  if (invalid) return classifyRefusal(invalid.Message ?? "");
  if (message === "Region is missing") return noRegion;
  const ofNode = network(error, server);
  if (ofNode) return ofNode;
  return statusOf(error) >= 500 ? troubled : undefined;
}

/** Classifies a validation error of a request. */
function classifyRefusal(message: string): ErrorClassification | undefined {
  if (/item size.*exceeded|aggregate size/i.test(message)) return tooLarge;
  if (/does not have the specified index/i.test(message)) return noIndex;
  if (/backfilling/i.test(message)) return indexInWork;
  return /\bkeys?\b|\bschema\b/i.test(message) ? otherTable : undefined;
}

/** Returns why a conditional write was rejected, or undefined if it was done. */
export async function refusalOf(
  write: Promise<unknown>,
): Promise<ConditionalCheckFailedException | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return error;
    throw error;
  }
}

/** Returns why a transaction was cancelled, one reason an action, if a condition was false. */
export function refusalOfTransaction(error: unknown): readonly CancellationReason[] | undefined {
  const reasons = reasonsOf(error);
  return reasons.some(({ Code }) => Code === "ConditionalCheckFailed") ? reasons : undefined;
}

/** Reasons for which a cancelled transaction can be sent again as it is. */
const passing: ReadonlySet<string> = new Set([
  "TransactionConflict",
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
  "RequestLimitExceeded",
  "None",
]);

/** Whether a transaction met another one, or was throttled, and nothing else. */
export function isBusy(error: unknown): boolean {
  const reasons = reasonsOf(error);
  return isInProgress(error) || (reasons.length > 0 && reasons.every(({ Code = "" }) => passing.has(Code)));
}

/** Whether the same request, under the same token, is still being done. */
export function isInProgress(error: unknown): boolean {
  return error instanceof Error && error.name === "TransactionInProgressException";
}

function reasonsOf(error: unknown): readonly CancellationReason[] {
  return error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
}

/** Whether the request was throttled and can be retried. */
export function isThrottled(error: unknown): boolean {
  return error instanceof Error && (throttling.has(error.name) || statusOf(error) === 429);
}

function statusOf(error: Error): number {
  return Number(Reflect.get(error, "$metadata")?.httpStatusCode ?? 0);
}

/**
 * Removes the request from an error: the response that the SDK hides in it leads to the request, and for a wrong signature
 * DynamoDB replies with the request as it should have been signed, including the session token.
 */
export function withoutRequest(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const response = Reflect.get(error, "$response");
  if (typeof response === "object" && response !== null) Reflect.set(response, "body", undefined);
  if (/signature/i.test(error.message)) {
    const [summary = ""] = error.message.split(/\s*(?:\n|The Canonical String)/);
    error.stack = (error.stack ?? "").replace(error.message, () => summary);
    error.message = summary;
  }
  return error;
}
