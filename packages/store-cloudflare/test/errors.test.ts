import { SqliteDocuments } from "@scrollback/documents/sqlite";
import { expect, test } from "vitest";
import { D1Client } from "../src/d1-client.ts";
import { DurableObjectClient } from "../src/durable-object-client.ts";
import { makeStorage } from "./storage.ts";

const d1 = new SqliteDocuments(new D1Client({} as never), "a_");
const object = new SqliteDocuments(new DurableObjectClient(makeStorage()), "a_");
const retryable = { code: "UNAVAILABLE", retryable: true };
const permanent = { code: "UNAVAILABLE", retryable: false };

/** From the pages of Cloudflare about errors. */
test.each([
  [d1, "D1_ERROR: Network connection lost.", retryable],
  [d1, "D1_ERROR: D1 DB reset because its code was updated.", retryable],
  [d1, "D1_ERROR: Internal error while starting up D1 DB storage caused object to be reset.", retryable],
  [d1, "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.", retryable],
  [d1, "D1_ERROR: D1 DB is overloaded. Requests queued for too long.", retryable],
  [d1, "D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node.", retryable],
  [d1, "D1_ERROR: D1 DB's isolate exceeded its memory limit and was reset.", retryable],
  [d1, "D1_ERROR: Exceeded maximum DB size.", permanent],
  [d1, "D1_ERROR: no such table: a_heads: SQLITE_ERROR", { ...permanent, isMissing: true }],
  [d1, "D1_ERROR: string or blob too big: SQLITE_TOOBIG", { code: "TOO_LARGE" }],
  [object, "Durable Object reset because its code was updated.", retryable],
  [object, "Durable Object is overloaded. Too many requests queued.", retryable],
  [object, "Network connection lost.", retryable],
  [object, "SQL is not enabled for this Durable Object class.", { code: "UNSUPPORTED" }],
  [object, "no such table: a_heads: SQLITE_ERROR", { ...permanent, isMissing: true }],
])("%o: %s", (documents, message, expected) => {
  expect(documents.classifyError(new Error(message))).toMatchObject(expected);
});

test("an unknown error is not classified", () => {
  for (const documents of [d1, object]) {
    expect(documents.classifyError(new TypeError("send is not a function"))).toBeUndefined();
    expect(documents.classifyError("text")).toBeUndefined();
  }
});
