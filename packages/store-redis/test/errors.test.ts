import { inspect } from "node:util";
import { ReplyError } from "ioredis";
import { describe, expect, test } from "vitest";
import { classifyError, withoutArguments } from "../src/errors.ts";

const answer = (message: string, more: object = {}): Error => Object.assign(new ReplyError(message), more);
const failure = (message: string, more: object = {}): Error => Object.assign(new Error(message), more);
const named = (name: string, more: object = {}): Error =>
  failure(`${name}, as ioredis says it`, { name, ...more });
const retryable = { code: "UNAVAILABLE", retryable: true };
const permanent = { code: "UNAVAILABLE", retryable: false };

describe("the classification of a server's error", () => {
  test.each([
    ["READONLY You can't write against a read only replica. script: e659, on @user_script:204.", retryable],
    ["LOADING Redis is loading the dataset in memory", retryable],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", retryable],
    ["CLUSTERDOWN Hash slot not served", retryable],
    ["TRYAGAIN Multiple keys request during rehashing of slot", retryable],
    ["UNBLOCKED force unblock from blocking operation, instance state changed", retryable],
    ["BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", retryable],
    [
      "ERR Error running script (call to f_e6): @user_script:204: @user_script: 204: -NOREPLICAS Not enough.",
      retryable,
    ],
    [
      "ERR Error running script (call to f_e6): @user_script:9: WRONGTYPE Operation against a key",
      { code: "CORRUPT" },
    ],
    ["OOM command not allowed when used memory > 'maxmemory'.", permanent],
    [
      "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
      permanent,
    ],
    ["NOAUTH Authentication required.", permanent],
    ["ERR Protocol error: unauthenticated multibulk length", permanent],
    ["WRONGPASS invalid username-password pair or user is disabled.", permanent],
    [
      "ERR AUTH <password> called without any password configured for the default user. Are you sure?",
      { ...permanent, message: expect.stringContaining("no password") },
    ],
    ["ERR DB index is out of range", permanent],
    ["ERR SELECT is not allowed in cluster mode", permanent],
    ["ERR Client names cannot contain spaces, newlines or special characters.", permanent],
    ["NOPERM this user has no permissions to run the 'evalsha' command", permanent],
    [
      "ERR The user executing the script can't run this command or subcommand script: e6, on @user_script:39.",
      permanent,
    ],
    ["ERR unknown command 'EVAL', with args beginning with: 'return 1'", { code: "UNSUPPORTED" }],
    [
      "ERR Error running script (call to f_e6): @user_script:66: @user_script: 66: Unknown Redis command called from Lua script",
      { code: "UNSUPPORTED" },
    ],
  ])("%s", (message, expected) => {
    expect(classifyError(answer(message))).toMatchObject(expected);
  });

  test("is undefined for unknown errors", () => {
    expect(classifyError(answer("ERR syntax error"))).toBeUndefined();
    expect(classifyError(new TypeError("x is not a function"))).toBeUndefined();
    expect(classifyError("text")).toBeUndefined();
  });
});

describe("the classification of a failed connection", () => {
  test.each([
    failure("connect ECONNREFUSED 127.0.0.1:1", { code: "ECONNREFUSED", syscall: "connect" }),
    failure("getaddrinfo ENOTFOUND cache", { code: "ENOTFOUND", syscall: "getaddrinfo" }),
    failure("Connection is closed."),
    failure("Command timed out"),
    failure("Stream isn't writeable and enableOfflineQueue options is false"),
    failure("Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN Hash slot not served"),
    named("MaxRetriesPerRequestError"),
    named("AbortError"),
    named("ClusterAllFailedError"),
    named("ClusterAllFailedError", { lastNodeError: failure("Connection is closed.") }),
  ])("%s", (error) => {
    expect(classifyError(error)).toMatchObject(retryable);
  });

  test.each([
    failure("self-signed certificate", { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
    named("MaxRetriesPerRequestError", { cause: failure("x", { code: "CERT_HAS_EXPIRED" }) }),
    named("ClusterAllFailedError", { lastNodeError: answer("WRONGPASS invalid username-password pair") }),
    failure('Unknown RESP type 72 "H". Please report this.'),
    failure('Protocol error, got "H" as reply type byte'),
  ])("permanent: %s", (error) => {
    expect(classifyError(error)).toMatchObject(permanent);
  });
});

describe("withoutArguments", () => {
  test("removes the sent arguments from an error and from its inner error", () => {
    const command = { name: "hello", args: ["3", "AUTH", "default", "secret"] };
    const error = answer("WRONGPASS", { command, lastNodeError: answer("WRONGPASS", { command }) });
    expect(inspect(error, { depth: null })).toContain("secret");
    expect(withoutArguments(error)).toBe(error);
    expect(inspect(error, { depth: null })).not.toContain("secret");
  });
});
