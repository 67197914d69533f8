import { type BatchStatementError, ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";
import { PARTITION_KEY, SHARD_ATTRIBUTE, SORT_KEY } from "./item.ts";
import { ROOT_INDEX } from "./roots.ts";

const table = errorTable("dynamodb");
const { lost, network, permanent, retryable } = table;

const throttled = retryable(
  "requests are throttled: the table, or the partition of a busy thread, is at the limit of its throughput",
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
  ReplicatedWriteConflictException: retryable("another region wrote to the thread at the same time"),
  ResourceInUseException: retryable("the table is being created, changed or deleted"),
  ResourceNotFoundException: permanent(
    "the table does not exist in this account and region; run setup(), or create it from the definition in the package's documentation",
  ),
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
  message: `dynamodb: the table has other keys than the stores need: partition key "${PARTITION_KEY}" (string), sort key "${SORT_KEY}" (number); use another table`,
} as const satisfies ErrorClassification;
/** The table of entries, whose local index cannot be added later. */
export const otherEntries = {
  code: "UNSUPPORTED",
  message:
    "dynamodb: the table of entries has other keys than the stores need, or no local index; create it from the definition in the package's documentation",
} as const satisfies ErrorClassification;

const noIndex: ErrorClassification = {
  code: "UNSUPPORTED",
  message: `dynamodb: the table has no index "${ROOT_INDEX}", which listThreads() needs; add it: partition key "${SHARD_ATTRIBUTE}" (string), sort key "${PARTITION_KEY}" (string), projection KEYS_ONLY`,
};
const indexInWork = retryable(
  `DynamoDB is still filling the index "${ROOT_INDEX}", which listThreads() needs`,
);

/** Timeouts of the SDK, and of a service that received no complete request. */
const timeouts: ReadonlySet<string> = new Set(["TimeoutError", "RequestTimeout", "RequestTimeoutException"]);

/** See `RecordLog.classifyError`. `server`: the endpoint of the requests. */
export function classifyError(error: unknown, server?: string): ErrorClassification | undefined {
  if (!(error instanceof Error)) return undefined;
  const { name, message } = error;
  if (isThrottled(error)) return throttled;
  if (timeouts.has(name)) return lost(error, server);
  if (Object.hasOwn(errorsByName, name)) return errorsByName[name];
  if (name === "ValidationException") return classifyRefusal(message);
  if (message === "Region is missing") return noRegion;
  const ofNode = network(error, server);
  if (ofNode) return ofNode;
  return statusOf(error) >= 500 ? troubled : undefined;
}

/** Classifies a validation error of a request. */
function classifyRefusal(message: string): ErrorClassification | undefined {
  if (/item size.*exceeded/i.test(message)) return tooLarge;
  if (/does not have the specified index/i.test(message)) return noIndex;
  if (/backfilling/i.test(message)) return indexInWork;
  return /\bkeys?\b|\bschema\b/i.test(message) ? otherTable : undefined;
}

/** Returns the error of one statement of a batch, with the name that it has as the error of a request. */
export function errorOfStatement({ Code, Message }: BatchStatementError): Error {
  const code = Code ?? "InternalServerError";
  const isName = throttling.has(code) || Object.hasOwn(errorsByName, code);
  const name = isName ? code : `${code.replace(/Error$/, "")}Exception`;
  return Object.assign(new Error(Message ?? code), { name });
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

/** Whether the condition of a write was false, or the item to update is missing. */
export function isRefusal(error: Error): boolean {
  return error.name === "ConditionalCheckFailedException";
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
