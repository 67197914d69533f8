import { inspect } from "node:util";
import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { classifyError, isBusy, isThrottled, refusalOfTransaction, withoutRequest } from "../src/errors.ts";

const failure = (name: string, message = name, more: object = {}): Error =>
  Object.assign(new Error(message), { name, ...more });
const retryable = { code: "UNAVAILABLE", retryable: true };
const permanent = { code: "UNAVAILABLE", retryable: false };

describe("the classification of an error", () => {
  test.each([
    failure("ProvisionedThroughputExceededException"),
    failure("ThrottlingException"),
    failure("RequestLimitExceeded"),
    failure("LimitExceededException"),
    failure("SlowDown", "slow down", { $metadata: { httpStatusCode: 429 } }),
    failure("InternalServerError"),
    failure("TransactionInProgressException"),
    failure("ReplicatedWriteConflictException"),
    failure("ServiceUnavailable"),
    failure("SyntaxError", "Unexpected token '<'", { $metadata: { httpStatusCode: 502 } }),
    failure("TimeoutError"),
    failure("TimeoutError", "socket hang up", { code: "ECONNRESET" }),
    failure("Error", "connect ECONNREFUSED 127.0.0.1:8000", { code: "ECONNREFUSED" }),
    failure("Error", "getaddrinfo ENOTFOUND dynamodb", { code: "ENOTFOUND" }),
    failure("Error", "getaddrinfo EAI_AGAIN dynamodb", { code: "EAI_AGAIN" }),
    failure("AggregateError", "", { code: "ECONNREFUSED" }),
  ])("retryable: %s", (error) => {
    expect(classifyError(error)).toMatchObject(retryable);
  });

  test.each([
    failure("AccessDeniedException"),
    failure("UnrecognizedClientException"),
    failure("InvalidSignatureException"),
    failure("IncompleteSignatureException"),
    failure("MissingAuthenticationTokenException"),
    failure("ExpiredTokenException"),
    failure("CredentialsProviderError", "Could not load credentials from any providers"),
    failure("ResourceNotFoundException"),
    failure("Error", "Region is missing"),
    failure("Error", "self-signed certificate", { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
    failure("Error", "unable to verify the first certificate", { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }),
  ])("permanent: %s", (error) => {
    expect(classifyError(error)).toMatchObject(permanent);
  });

  const cancelled = (...codes: string[]) =>
    new TransactionCanceledException({
      message: "Transaction cancelled",
      $metadata: {},
      CancellationReasons: codes.map((Code) => ({ Code, Message: "Item size has exceeded the maximum" })),
    });

  test.each(["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])(
    "of a transaction that was cancelled for %s is retryable, and the transaction is repeated",
    (code) => {
      expect(isBusy(cancelled("None", code))).toBe(true);
      expect(classifyError(cancelled("None", code))).toMatchObject(retryable);
      // A condition that is false is an answer.
      expect(isBusy(cancelled("ConditionalCheckFailed", code))).toBe(false);
      expect(refusalOfTransaction(cancelled(code))).toBeUndefined();
    },
  );

  test("of a transaction with a false condition, or an invalid item, is its reason", () => {
    expect(refusalOfTransaction(cancelled("None", "ConditionalCheckFailed"))).toHaveLength(2);
    expect(classifyError(cancelled("None", "ValidationError"))).toMatchObject({ code: "TOO_LARGE" });
    expect(classifyError(failure("IdempotentParameterMismatchException"))).toMatchObject(retryable);
  });

  test("of an invalid request depends on its message", () => {
    const invalid = (message: string) => classifyError(failure("ValidationException", message));
    expect(invalid("Item size has exceeded the maximum allowed size")).toMatchObject({ code: "TOO_LARGE" });
    expect(invalid("Item size to update has exceeded the maximum allowed size")).toMatchObject({
      code: "TOO_LARGE",
    });
    expect(
      invalid("One or more parameter values were invalid: Missing the key id in the item"),
    ).toMatchObject({
      code: "UNSUPPORTED",
    });
    expect(invalid("The provided key element does not match the schema")).toMatchObject({
      code: "UNSUPPORTED",
    });
    expect(invalid("The table does not have the specified index: threads")).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("has no index"),
    });
    expect(invalid("Cannot read from backfilling global secondary index: threads")).toMatchObject({
      ...retryable,
      message: expect.stringContaining("index"),
    });
    expect(invalid("Invalid FilterExpression")).toBeUndefined();
  });

  test("is undefined for unknown errors", () => {
    expect(
      classifyError(failure("SomethingNew", "?", { $metadata: { httpStatusCode: 400 } })),
    ).toBeUndefined();
    expect(classifyError(failure("toString"))).toBeUndefined();
    expect(classifyError(new TypeError("x is not a function", { cause: { code: "ERR_X" } }))).toBeUndefined();
    expect(
      classifyError(Object.assign(new TypeError("bad"), { code: "ERR_INVALID_ARG_TYPE" })),
    ).toBeUndefined();
  });

  test("only throttling is throttling", () => {
    expect(isThrottled(failure("ThrottlingException"))).toBe(true);
    expect(isThrottled(failure("InternalServerError", "", { $metadata: { httpStatusCode: 500 } }))).toBe(
      false,
    );
    expect(isThrottled("ThrottlingException")).toBe(false);
  });
});

describe("withoutRequest", () => {
  test("removes the signed content and every reference to the request", () => {
    const body = { req: { headers: { "x-amz-security-token": "hunter2" } } };
    const error = failure(
      "InvalidSignatureException",
      "The request signature we calculated does not match.\n\nThe Canonical String for this request should have been\n'POST\nx-amz-security-token:hunter2'",
    );
    Object.defineProperty(error, "$response", { value: { statusCode: 400, body } });
    expect(inspect(error, { depth: null, showHidden: true })).toContain("hunter2");
    expect(withoutRequest(error)).toBe(error);
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain("hunter2");
    expect(error.message).toBe("The request signature we calculated does not match.");
    expect(error.stack).toContain("does not match.\n    at ");
  });

  test("does not change other errors", () => {
    const error = failure("ThrottlingException", "Rate exceeded\nfor a table");
    expect(withoutRequest(error)).toBe(error);
    expect(error.message).toBe("Rate exceeded\nfor a table");
    expect(withoutRequest("text")).toBe("text");
  });
});
