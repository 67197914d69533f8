import { DatabaseError } from "pg";
import { describe, expect, test } from "vitest";
import {
  type ClientKind,
  classifyError,
  isReply,
  isUniqueViolation,
  OpenTransactionError,
} from "../src/errors.ts";

const reply = (code: string, message = "as the server says it"): DatabaseError =>
  Object.assign(new DatabaseError(message, 1, "error"), { code, severity: "ERROR" });
const classify = (error: unknown, kind: ClientKind = "own pool") => classifyError(error, "db:5432", kind);

describe("the classification of a SQLSTATE", () => {
  test.each([
    "57P01",
    "57P03",
    "53300",
    "55P03",
    "40001",
    "40P01",
    "57014",
    "25006",
    "08006",
    "08P01",
    "57P05",
  ])("%s: retryable", (code) => {
    expect(classify(reply(code))).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  });

  test.each([
    ["28P01", "login"],
    ["28000", "login"],
    ["42501", "privileges"],
    ["3D000", "database"],
    ["3F000", "setup()"],
    ["42883", "setup()"],
    ["42P01", "setup()"],
    ["53100", "disk"],
    ["23514", "128 bytes"],
  ])("%s: permanent, and the message says what to change", (code, text) => {
    expect(classify(reply(code))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining(text),
    });
  });

  test.each([
    ["22P05", "UNSUPPORTED"],
    ["42703", "UNSUPPORTED"],
    ["42P10", "UNSUPPORTED"],
    ["42P07", "UNSUPPORTED"],
    ["42723", "UNSUPPORTED"],
    ["42601", "UNSUPPORTED"],
    ["54000", "TOO_LARGE"],
    ["23505", "CORRUPT"],
  ])("%s: %s", (code, expected) => {
    expect(classify(reply(code))).toMatchObject({ code: expected });
  });

  test("a lock that another transaction holds is named", () => {
    expect(classify(reply("55P03"))?.message).toContain("another transaction holds the thread");
  });

  test("is undefined for unknown errors", () => {
    expect(classify(reply("XX000"))).toBeUndefined();
    // An error of Node.js also has a code of five letters.
    expect(classify(Object.assign(new Error("x"), { code: "EPERM" }))).toBeUndefined();
  });

  test("a conflict on a connection that was handed in is one of its whole transaction", () => {
    for (const code of ["40001", "40P01"])
      expect(classify(reply(code), "connection")).toMatchObject({
        code: "UNAVAILABLE",
        retryable: true,
        message: expect.stringContaining("repeat all of it"),
      });
  });

  test("a unique violation is distinguished from all other errors", () => {
    expect(["23505", "42P07"].map((code) => isUniqueViolation(reply(code)))).toEqual([true, false]);
    expect(isUniqueViolation("23505")).toBe(false);
  });
});

describe("the classification of pg's own errors", () => {
  test.each([
    "Connection terminated unexpectedly",
    "Connection terminated due to connection timeout",
    "timeout exceeded when trying to connect",
    "Query read timeout",
    "Connection terminated",
  ])("%s: a lost connection", (message) => {
    expect(classify(new Error(message))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: expect.stringMatching(/^postgres: could not reach db:5432 \(/),
    });
  });

  test("a connection is reused after a reply, unless the server closes it, became read-only or is in a transaction", () => {
    for (const state of ["42P01", "40P01", "53100"]) expect(isReply(reply(state)), state).toBe(true);
    for (const state of ["08006", "25006", "57P01", "25P02"])
      expect(isReply(reply(state)), state).toBe(false);
    for (const error of [new OpenTransactionError(), new Error("Query read timeout"), "text"])
      expect(isReply(error)).toBe(false);
  });

  test("a caller's Client never reconnects", () => {
    const error = new Error("Client has encountered a connection error and is not queryable");
    expect(classify(error, "connection")).toMatchObject({
      retryable: false,
      message: expect.stringContaining("Pool"),
    });
    for (const kind of ["pool", "own pool"] as const)
      expect(classify(error, kind)).toMatchObject({ retryable: true });
    const ended = new Error("Cannot use a pool after calling end on the pool");
    expect(classify(ended, "pool")).toMatchObject({ retryable: false });
  });

  test("missing TLS of the server and a missing password are reported", () => {
    const noTls = classify(new Error("The server does not support SSL connections"));
    expect(noTls).toMatchObject({ retryable: false, message: expect.stringContaining("TLS") });
    const noPassword = new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string");
    expect(classify(noPassword)).toMatchObject({
      retryable: false,
      message: expect.stringContaining("login"),
    });
  });

  test("a rejected certificate and a failed socket are classified as errors of Node", () => {
    const untrusted = Object.assign(new Error("self-signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(classify(untrusted)).toMatchObject({
      retryable: false,
      message: expect.stringContaining("certificate"),
    });
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" });
    expect(classify(refused)).toMatchObject({ message: "postgres: could not reach db:5432 (ECONNREFUSED)" });
    expect(classify(new TypeError("x is not a function"))).toBeUndefined();
    expect(classify("text")).toBeUndefined();
  });
});
