import { describe, expect, test } from "vitest";
import { unreachable } from "../src/driver/unreachable.ts";

const failure = (message: string, more: object = {}): Error => Object.assign(new Error(message), more);
const refused = failure("connect ECONNREFUSED 10.0.0.1:6379", {
  code: "ECONNREFUSED",
  syscall: "connect",
  address: "10.0.0.1",
  port: 6379,
});
const messageOf = (error: unknown, server?: string) => unreachable("db", [{ server, error }]).message;

describe("unreachable", () => {
  test("has the code UNAVAILABLE and is retryable", () => {
    expect(unreachable("db", [])).toEqual({
      code: "UNAVAILABLE",
      retryable: true,
      message: "db: could not reach the server",
    });
  });

  test("names the given server, and the system's error code", () => {
    expect(messageOf(refused, "cache:6379")).toBe("db: could not reach cache:6379 (ECONNREFUSED)");
  });

  test("takes the server from the error if none was given", () => {
    expect(messageOf(refused)).toBe("db: could not reach 10.0.0.1:6379 (ECONNREFUSED)");
    const unknown = failure("getaddrinfo ENOTFOUND cache", { code: "ENOTFOUND", hostname: "cache" });
    expect(messageOf(unknown)).toBe("db: could not reach cache (ENOTFOUND)");
  });

  test("finds the root cause below other errors", () => {
    const wrapped = new Error("gave up", { cause: new Error("no connection", { cause: refused }) });
    expect(messageOf(wrapped)).toBe("db: could not reach 10.0.0.1:6379 (ECONNREFUSED)");
    const both = new AggregateError([refused, failure("x", { code: "ENETUNREACH" })], "all failed");
    expect(messageOf(both, "cache:1")).toBe("db: could not reach cache:1 (ECONNREFUSED)");
    const quoting = new Error("All sentinels are unreachable. Last error: connect ETIMEDOUT");
    expect(messageOf(quoting, "cache:1")).toBe("db: could not reach cache:1 (ETIMEDOUT)");
  });

  test.each([
    [failure("Command timed out"), "timeout"],
    [failure("x", { name: "TimeoutError" }), "timeout"],
    [failure("x", { code: "REQUEST_TIMED_OUT" }), "timeout"],
    [failure("4 DEADLINE_EXCEEDED: after 4s", { code: 4 }), "timeout"],
    [failure("x", { cause: failure("x", { code: "deadline_exceeded" }) }), "timeout"],
    [failure("Connection is closed."), "no connection"],
    [undefined, "no connection"],
  ])("%s has no system error code: %s", (error, reason) => {
    expect(messageOf(error, "cache:1")).toBe(`db: could not reach cache:1 (${reason})`);
  });

  test("names several servers, each with its reason", () => {
    const { message } = unreachable("db", [
      { server: "a:1", error: refused },
      { server: "b:2", error: failure("b timed out") },
    ]);
    expect(message).toBe("db: could not reach a:1 (ECONNREFUSED), b:2 (timeout)");
  });

  test("shows nothing else of an error, and ends on a cyclic chain of causes", () => {
    const secret = failure("redis://:hunter2@cache failed", { code: "hunter2" });
    secret.cause = secret;
    expect(messageOf(secret, "cache:1")).toBe("db: could not reach cache:1 (no connection)");
  });
});
