import {
  MongoBulkWriteError,
  MongoCompatibilityError,
  MongoError,
  MongoErrorLabel,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from "mongodb";
import { describe, expect, test } from "vitest";
import { areDuplicateKeys, classifyError, isDuplicateKey } from "../src/errors.ts";

const answer = (code: number, errmsg = "as the server says it"): MongoServerError =>
  new MongoServerError({ message: errmsg, errmsg, code, ok: 0 });
const named = (name: string, more: object = {}): Error =>
  Object.assign(new Error(`${name}, as the driver says it`), { name, ...more });
const retryable = { code: "UNAVAILABLE", retryable: true };
const permanent = { code: "UNAVAILABLE", retryable: false };

describe("the classification of a server's error", () => {
  test.each([
    [10107, "NotWritablePrimary"],
    [189, "PrimarySteppedDown"],
    [13435, "NotPrimaryNoSecondaryOk"],
    [91, "ShutdownInProgress"],
    [11600, "InterruptedAtShutdown"],
    [11602, "InterruptedDueToReplStateChange"],
    [50, "MaxTimeMSExpired"],
    [262, "ExceededTimeLimit"],
    [6, "HostUnreachable"],
    [64, "WriteConcernTimeout"],
    [13388, "StaleConfig"],
    [462, "IngressRequestRateLimitExceeded"],
  ])("%i %s: retryable", (code) => {
    expect(classifyError(answer(code), true)).toMatchObject(retryable);
  });

  test.each([
    [18, "AuthenticationFailed", "login"],
    [13, "Unauthorized", "permissions"],
    [8000, "AtlasError", "Atlas"],
    [100, "UnsatisfiableWriteConcern", "write concern"],
    [14031, "OutOfDiskSpace", "disk is full"],
    [121, "DocumentValidationFailure", "validator"],
  ])("%i %s: permanent, and the message says what to change", (code, _, text) => {
    expect(classifyError(answer(code), true)).toMatchObject({
      ...permanent,
      message: expect.stringContaining(text),
    });
  });

  test.each([
    [10334, "TOO_LARGE"],
    [17419, "TOO_LARGE"],
    [85, "UNSUPPORTED"],
    [86, "UNSUPPORTED"],
    [166, "UNSUPPORTED"],
  ])("%i: %s", (code, expected) => {
    expect(classifyError(answer(code), true)).toMatchObject({ code: expected });
  });

  test("of a failed amendment and of an unconfirmed write depends on its code", () => {
    const bulk = new MongoBulkWriteError({ message: "x", code: 189, writeErrors: [] }, {} as never);
    expect(classifyError(bulk, true)).toMatchObject(retryable);
    const concern = {
      code: 64,
      errmsg: "waiting for replication timed out",
      codeName: "WriteConcernTimeout",
    };
    const unconfirmed = new MongoWriteConcernError({ ok: 1, writeConcernError: concern } as never);
    expect(classifyError(unconfirmed, true)).toMatchObject(retryable);
  });

  test("depends on its labels for an unknown code", () => {
    const error = answer(987_654);
    expect(classifyError(error, true)).toBeUndefined();
    error.addErrorLabel(MongoErrorLabel.RetryableWriteError);
    expect(classifyError(error, true)).toMatchObject(retryable);
  });

  test("a duplicate key is distinguished from all other errors", () => {
    expect(isDuplicateKey(answer(11_000))).toBe(true);
    expect(isDuplicateKey(answer(11_600))).toBe(false);
    expect(isDuplicateKey(undefined)).toBe(false);
  });

  test.each([
    [[11_000, 11_000], undefined, true],
    [[11_000, 10_334], undefined, false],
    [[11_000], { code: 64 }, false],
    [[], undefined, false],
  ])(
    "an insert of several documents that were refused with %j and the write concern error %j",
    (codes, unconfirmed, expected) => {
      const result = { getWriteConcernError: () => unconfirmed };
      const writeErrors = codes.map((code) => ({ code }));
      const error = new MongoBulkWriteError(
        { message: "x", code: 11_000, writeErrors } as never,
        result as never,
      );
      expect(areDuplicateKeys(error)).toBe(expected);
      expect(areDuplicateKeys(undefined)).toBe(false);
    },
  );
});

describe("the classification of the driver's own errors", () => {
  test.each([
    new MongoNetworkError("connection 1 to localhost:1 closed"),
    new MongoNetworkTimeoutError("connection 1 to localhost:1 timed out"),
    new MongoServerSelectionError("Server selection timed out", {} as never),
    new MongoTopologyClosedError("Topology is closed"),
    new MongoBulkWriteError(new MongoNetworkError("connection 1 to localhost:1 closed"), {} as never),
    named("MongoPoolClearedError"),
    Object.assign(new Error("write ECONNRESET"), { code: "ECONNRESET", syscall: "write" }),
    named("MongoClientClosedError"),
    named("MongoWaitQueueTimeoutError"),
    Object.assign(new Error("querySrv ENOTFOUND"), { code: "ENOTFOUND", syscall: "querySrv" }),
  ])("%s: retryable", (error) => {
    expect(classifyError(error, true)).toMatchObject(retryable);
    expect(classifyError(error, false)).toMatchObject(retryable);
  });

  test("a closed client is a permanent error, unless it is the factory's own, which reconnects", () => {
    const error = new MongoNotConnectedError("Client must be connected before running operations");
    expect(classifyError(error, false)).toMatchObject({
      ...permanent,
      message: expect.stringContaining("closed"),
    });
    expect(classifyError(error, true)).toMatchObject(retryable);
  });

  test("a rejected certificate is a permanent error, at any depth of the cause", () => {
    const tls = Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    const network = new MongoNetworkError(tls.message, { cause: tls });
    const selection = new MongoServerSelectionError("x", { error: network } as never);
    expect(classifyError(selection, true)).toMatchObject({
      ...permanent,
      message: expect.stringContaining("certificate"),
    });
  });

  test.each([
    ["the driver's error", named("MongoWaitQueueTimeoutError", { address: "db2:27017" }), "db2:27017"],
    ["the options", named("MongoWaitQueueTimeoutError"), "db1:27017, db2:27017"],
  ])("no free connection: names the server of %s and both possible causes", (_, error, servers) => {
    expect(classifyError(error, true, "db1:27017, db2:27017")).toEqual({
      ...retryable,
      message: `mongodb: no connection to ${servers} became free in time (timeout): the server does not reply, or maxPoolSize of the client is too small`,
    });
  });

  test("an outdated server is UNSUPPORTED", () => {
    expect(classifyError(new MongoCompatibilityError("x"), true)).toMatchObject({ code: "UNSUPPORTED" });
  });

  test("is undefined for unknown errors", () => {
    for (const error of [
      new MongoParseError("x"),
      new MongoError("x"),
      new TypeError("x is not a function"),
      Object.assign(new Error("open ENOENT"), { code: "ENOENT", syscall: "open" }),
      { code: 18 },
      "text",
      null,
    ]) {
      expect(classifyError(error, true)).toBeUndefined();
    }
  });
});
