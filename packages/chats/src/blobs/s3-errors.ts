import { StoreError } from "@scrollback/store-core";
import { type ErrorClassification, errorTable } from "@scrollback/store-core/driver";

const { lost, network, permanent, retryable, tooLarge } = errorTable("s3");

const rejected = "the credentials were rejected; check those of the client, and the machine's clock";
const absent =
  "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or a role, or give the client some";
const elsewhere = "it is in another region; give the client its region, or its endpoint";
const denied =
  "access is denied; allow s3:GetObject, s3:PutObject and s3:DeleteObject of its objects, and s3:ListBucket: without it S3 denies access to what is missing";
const noBucket = "it does not exist; create it, or correct the bucket, or the client's endpoint";
const busy = "requests are throttled";
const troubled = "the service failed to answer; see cause";

/** Errors that last until somebody mends them, by name. The sentences are about the bucket. */
const lasting: Readonly<Record<string, string>> = {
  NoSuchBucket: noBucket,
  InvalidBucketName: "its name is invalid; correct the bucket",
  ...{ AccessDenied: denied, Forbidden: denied, AllAccessDisabled: denied },
  ...{ PermanentRedirect: elsewhere, AuthorizationHeaderMalformed: elsewhere },
  ...{ InvalidAccessKeyId: rejected, SignatureDoesNotMatch: rejected, InvalidToken: rejected },
  ...{ ExpiredToken: rejected, TokenRefreshRequired: rejected, RequestTimeTooSkewed: rejected },
  ...{ CredentialsProviderError: absent, TokenProviderError: absent },
};

const throttling: ReadonlySet<string> = new Set([
  ...["SlowDown", "ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded"],
]);
/** Timeouts of the SDK, and of a service that received no complete request. */
const timeouts: ReadonlySet<string> = new Set(["TimeoutError", "RequestTimeout", "RequestTimeoutException"]);

/** Whether there is no object of the key. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && ["NoSuchKey", "NotFound"].includes(error.name);
}

/** Whether the object ends before the range begins. */
export function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && statusOf(error) === 416;
}

/** The StoreError of an error of the SDK. Its message and its cause have no part of the request. */
export function storeErrorOf(error: unknown, bucket: string): StoreError {
  const { code, message, retryable = false } = classify(error, bucket);
  return new StoreError(code, message, { cause: withoutRequest(error), retryable });
}

function classify(error: unknown, bucket: string): ErrorClassification {
  const of = (problem: string) => `bucket "${bucket}": ${problem}`;
  if (!(error instanceof Error)) return retryable(of(troubled));
  const { name } = error;
  const status = statusOf(error);
  if (throttling.has(name) || status === 429) return retryable(of(busy));
  if (timeouts.has(name)) return lost(error);
  const problem = Object.hasOwn(lasting, name) ? lasting[name] : undefined;
  if (problem !== undefined) return permanent(of(problem));
  if (name === "EntityTooLarge") return tooLarge(of("the service takes no object of this size"));
  if (error.message === "Region is missing") return permanent("no region is known; give the client one");
  if (status === 301) return permanent(of(elsewhere));
  if (status === 403) return permanent(of(denied));
  if (status >= 400 && status < 500) return permanent(of(`the request was refused (${name}); see cause`));
  return network(error) ?? retryable(of(troubled));
}

function statusOf(error: Error): number {
  return Number(Reflect.get(error, "$metadata")?.httpStatusCode ?? 0);
}

/**
 * Removes the request from an error: the response that the SDK hides in it leads to the request, and for a wrong signature S3 replies with
 * the request as it should have been signed, including the session token.
 */
function withoutRequest(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const response = Reflect.get(error, "$response");
  if (typeof response === "object" && response !== null) Reflect.set(response, "body", undefined);
  for (const field of [
    "CanonicalRequest",
    "CanonicalRequestBytes",
    "StringToSign",
    "StringToSignBytes",
    "Token-0",
  ])
    Reflect.deleteProperty(error, field);
  return error;
}
