import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { classifyError, isReply, OpenTransactionError, withoutValues } from "../src/errors.ts";

const reply = (errno: number) =>
  Object.assign(new Error("Duplicate entry 'secret'"), { errno, code: "ER_NAME", sql: "INSERT … 'secret'" });
const failure = (code: string, more: object = {}) => Object.assign(new Error("raw"), { code, ...more });
const classify = (error: unknown, owned = true) => classifyError(error, "db:3306", owned);

describe("the classification of an error's number", () => {
  test.each([1040, 1203, 1205, 1213, 1290, 1317, 1969, 1053, 1927, 4031])("%i: retryable", (errno) => {
    expect(classify(reply(errno))).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  });

  test.each([
    [1045, "login"],
    [1142, "privileges"],
    [1049, "database"],
    [1146, "setup()"],
    [1021, "disk"],
  ])("%i: permanent, and the message says what to change", (errno, text) => {
    expect(classify(reply(errno))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining(text),
    });
  });

  test.each([
    [1054, "UNSUPPORTED"],
    [1064, "UNSUPPORTED"],
    [1176, "UNSUPPORTED"],
    [1153, "TOO_LARGE"],
  ])("%i: %s", (errno, code) => {
    expect(classify(reply(errno))).toMatchObject({ code });
  });

  test("is undefined for unknown errors", () => {
    for (const error of [reply(1999), new TypeError("x is not a function"), failure("EPERM"), "text"])
      expect(classify(error)).toBeUndefined();
  });
});

test("an error of the server shows its number and name, and no value", () => {
  const shown = inspect(withoutValues(reply(1062)), { showHidden: true });
  expect(shown).toContain("ER_NAME (1062)");
  expect(shown).not.toContain("secret");
  const refused = failure("ECONNREFUSED", { errno: -111 });
  expect(withoutValues(refused)).toBe(refused);
});

describe("errors of mysql2 and of sockets", () => {
  test.each([
    failure("PROTOCOL_CONNECTION_LOST"),
    failure("ECONNRESET"),
    failure("HANDSHAKE_SSL_ERROR", { syscall: "read" }),
    new Error("Can't add new command when connection is in closed state"),
    Object.assign(new Error("no reply"), { name: "TimeoutError" }),
  ])("%s: a lost connection", (error) => {
    expect(classify(error)).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: expect.stringMatching(/^mariadb: could not reach db:3306 \(/),
    });
  });

  test.each([
    [failure("HANDSHAKE_NO_SSL_SUPPORT"), "TLS"],
    [failure("HANDSHAKE_SSL_ERROR"), "certificate"],
    [failure("AUTH_SWITCH_PLUGIN_ERROR"), "login"],
  ])("%s: permanent, and the message says what to change", (error, text) => {
    const message = expect.stringContaining(text);
    expect(classify(error)).toMatchObject({ code: "UNAVAILABLE", retryable: false, message });
  });

  test("a pool that its owner ended is not a lost connection, the factory's own is", () => {
    const error = new Error("Pool is closed.");
    expect(classify(error, false)).toMatchObject({ retryable: false });
    expect(classify(error)).toMatchObject({ retryable: true });
    for (const other of [new Error("Queue limit reached."), new OpenTransactionError()])
      expect(classify(other)).toMatchObject({ retryable: true });
  });
});

test("a connection is reused after a reply, unless it is closed or in a transaction", () => {
  for (const errno of [1062, 1146, 1213]) expect(isReply(reply(errno)), `${errno}`).toBe(true);
  for (const error of [reply(1053), reply(1927), new OpenTransactionError(), failure("ECONNRESET"), "text"])
    expect(isReply(error)).toBe(false);
});
