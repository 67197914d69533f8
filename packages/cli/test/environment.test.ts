import { randomBytes } from "node:crypto";
import { type Codec, createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { codecOf, urlOf } from "../src/context/environment.ts";
import { redact, shownUrl } from "../src/context/redact.ts";

const key = randomBytes(32).toString("base64");
const other = randomBytes(32).toString("base64");

async function written(codec: Codec | undefined): Promise<string> {
  const stores = createMemoryStores({ ...(codec && { codec }) });
  const store = stores.open("a");
  await store.addMessages([{ role: "user", content: "tram ".repeat(100) }]);
  return JSON.stringify(await store.serialize());
}

test("the codec is the one that the environment names", async () => {
  expect(await written(codecOf("source", {}))).toContain("tram tram");
  expect(await written(codecOf("source", { SCROLLBACK_CODEC: "gzip" }))).toContain("^g");
  const env = { SCROLLBACK_CODEC: "aes-gcm+gzip", SCROLLBACK_KEYS: `new:${key}, old:${other}` };
  expect(await written(codecOf("source", env))).toContain("#new:");
});

test("a target has the source's codec unless it has its own", async () => {
  const env = { SCROLLBACK_CODEC: "aes-gcm", SCROLLBACK_KEYS: `k:${key}` };
  expect(await written(codecOf("target", env))).toContain("#k:");
  expect(await written(codecOf("target", { ...env, SCROLLBACK_TARGET_CODEC: "json" }))).toContain(
    "tram tram",
  );
  const own = { SCROLLBACK_TARGET_CODEC: "aes-gcm", SCROLLBACK_TARGET_KEYS: `t:${other}` };
  expect(await written(codecOf("target", { ...env, ...own }))).toContain("#t:");
});

test.each([
  [{ SCROLLBACK_CODEC: "rot13" }, "SCROLLBACK_CODEC must be json, gzip, aes-gcm, aes-gcm+gzip"],
  [{ SCROLLBACK_KEYS: `k:${key}` }, "SCROLLBACK_KEYS needs SCROLLBACK_CODEC"],
  [{ SCROLLBACK_CODEC: "aes-gcm" }, "SCROLLBACK_KEYS must be ID:BASE64"],
  [{ SCROLLBACK_CODEC: "aes-gcm", SCROLLBACK_KEYS: "k:c2hvcnQ=" }, "32 bytes"],
  [{ SCROLLBACK_TARGET_KEYS: `k:${key}` }, "SCROLLBACK_TARGET_KEYS needs SCROLLBACK_TARGET_CODEC"],
])("invalid settings are refused, and no key is shown: %#", (env, message) => {
  expect(() => codecOf("target", env)).toThrow(message);
  expect(() => codecOf("target", env)).not.toThrow(key);
});

test("env:NAME is the value of an environment variable", () => {
  expect(urlOf("env:STORE_URL", { STORE_URL: "redis://h" })).toBe("redis://h");
  expect(urlOf("redis://h", {})).toBe("redis://h");
  expect(() => urlOf("env:NONE", {})).toThrow("NONE: this environment variable is not set");
});

test("URLs are shown without user, password and query", () => {
  expect(shownUrl("redis://u:p@host:6379/2?family=6")).toBe("redis://host:6379/2");
  expect(shownUrl("postgres://u:a/b@c@host/db?password=x#y")).toBe("postgres://host/db");
  expect(shownUrl("sqlite:/var/chats.db")).toBe("sqlite:/var/chats.db");
  expect(shownUrl("dynamodb://chats?secretAccessKey=x")).toBe("dynamodb://chats");
});

test("passwords, as written and decoded, and keys are removed from foreign text", () => {
  const url = "mongodb://u:s%40cret@host/db?authMechanismProperties=AWS_SESSION_TOKEN:tok";
  const text = `cannot connect to ${url}: wrong password s@cret, key ${key}, see redis://x:y@z`;
  const redacted = redact(text, [url], [key]);
  expect(redacted).toBe(
    "cannot connect to mongodb://host/db: wrong password ***, key ***, see redis://***@z",
  );
  const form = 'url must read "redis://[[user][:password]@]host[:port][/db]"';
  expect(redact(form, [], [])).toBe(form);
});
