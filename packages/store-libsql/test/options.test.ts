import { createClient } from "@libsql/client";
import { StoreError } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { createLibsqlStores, type LibsqlStoreOptions } from "../src/index.ts";

const memory = "libsql::memory:";

const invalid: [string, unknown, RegExp][] = [
  ["nothing", undefined, /give either url or client/],
  ["neither url nor client", {}, /give either url or client/],
  ["both", { url: memory, client: createClient({ url: ":memory:" }) }, /give either url or client/],
  ["an unknown key", { url: memory, path: "x" }, /unknown option "path"/],
  ["another scheme", { url: "sqlite:chats.db" }, /url must read "libsql:chats\.db"/],
  ["a URL without a path", { url: "libsql:" }, /url must read/],
  ["a value that is not a URL", { url: 7 }, /url must read/],
  ["a URL with an option", { url: "libsql:chats.db?tablePrefix=chat_" }, /must not contain the option/],
  ["a server with unknown parameters", { url: "libsql://db?secret=hunter2" }, /url is rejected by @libsql/],
  ["a server with a password", { url: "libsql://ada:hunter2@db" }, /no user name or password/],
  ["a value that is not a client", { client: { execute() {} } }, /client must have the methods/],
  ["a prefix in upper case", { url: memory, tablePrefix: "Chat_" }, /tablePrefix must be/],
  ["libSQL's own prefix", { url: memory, tablePrefix: "libsql_" }, /tablePrefix must be/],
  ["an invalid common option", { url: memory, maxMessages: 0 }, /maxMessages must be/],
];

test.each(invalid)("%s is refused", (_, options, message) => {
  let error: unknown;
  try {
    createLibsqlStores(options as LibsqlStoreOptions);
  } catch (thrown) {
    error = thrown;
  }
  expect(StoreError.is(error, "INVALID_ARGUMENT") && error.message).toMatch(message);
  expect(String(error)).not.toContain("hunter2");
});
