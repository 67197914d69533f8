import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { runFactory } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { StoreError } from "@scrollback/store-core";
import { Redis as Upstash } from "@upstash/redis";
import { expect, onTestFinished, test, vi } from "vitest";
import { createRedisStores, type RedisStoreOptions } from "../src/index.ts";
import { user } from "./messages.ts";
import { throughProxy } from "./proxied.ts";
import { rejection } from "./rejection.ts";
import { TOKEN, UpstashServer, upstashClient } from "./upstash-server.ts";

const started = sharedServer("redis").then(({ url }) => UpstashServer.start(url));
/** A namespace of these tests only: other processes use the same server. */
const keyPrefix = randomUUID();

/** A caller's client, and what the tests of factories do with it. */
function handedIn(url: string, options: object = {}) {
  const client = upstashClient(url, options);
  return {
    options: { client, keyPrefix } as RedisStoreOptions,
    use: () => client.ping(),
    close: () => undefined,
  };
}
const withSettings = (options: object) => async () => handedIn((await started).url, options);
const originOf = (url: string) => new URL(url).origin;

runFactory<RedisStoreOptions>({
  name: "Upstash",
  create: createRedisStores,
  secret: TOKEN,
  outages: {
    "a port without a server": [
      () => handedIn("http://127.0.0.1:65535").options,
      "could not reach",
      "127.0.0.1:65535",
      "ECONNREFUSED",
    ],
  },
  silent: (port) => handedIn(`http://127.0.0.1:${port}`).options,
  proxied: {
    async options(proxy) {
      return handedIn(originOf(await proxy.forwardUrl((await started).url, 80))).options;
    },
    async handIn(proxy) {
      return handedIn(originOf(await proxy.forwardUrl((await started).url, 80)));
    },
  },
  handIn: withSettings({}),
  otherSettings: {
    "no conversions": withSettings({ automaticDeserialization: false }),
    "replies without base64": withSettings({ responseEncoding: false }),
    "no automatic pipelines and no sync token": withSettings({
      enableAutoPipelining: false,
      readYourWrites: false,
    }),
    "no retries": withSettings({ retry: false }),
  },
  refusals: {
    "with a wrong token": async () => ({
      options: { client: new Upstash({ url: (await started).url, token: `not-${TOKEN}` }), keyPrefix },
      says: /password/,
    }),
  },
});

// The client itself sends again what was not replied to, `retry: false` once.
test.each([{}, { retry: false }, { enableAutoPipelining: false }])(
  "C23 a client of @upstash/redis with %o does not repeat an insert whose reply is lost",
  async (options) => {
    const { url } = await started;
    const { proxy, url: proxied } = await throughProxy({ url } as Awaited<ReturnType<typeof sharedServer>>);
    const [client, direct] = [upstashClient(originOf(proxied), options), upstashClient(url)];
    const name = randomUUID();
    const index = createRedisStores({ client, keyPrefix }).index(name);
    const others = createRedisStores({ client: direct, keyPrefix }).index(name);
    const [place, content] = [
      { key: "k", id: "e" },
      { version: 1, order: 1, value: "v" },
    ];
    await index.insert({ key: "first", id: "e" }, content);
    proxy.set({ kind: "cut-reply", times: 1 });
    expect((await rejection(index.insert(place, content))).code).toBe("UNAVAILABLE");
    expect(await others.entriesOf("k")).toHaveLength(1);
    await others.remove(place);
    expect(await index.entriesOf("k")).toEqual([]);
    expect(await index.insert(place, content)).toBe(true);
    expect(await index.insert(place, content)).toBe(false);
  },
);

test("C4 applies a commit whose reply was cut once", async () => {
  const { proxy, url } = await throughProxy((await started) as never);
  const store = createRedisStores({ client: upstashClient(originOf(url)), keyPrefix }).open();
  await store.addMessages([user("0")]);
  for (const afterBytes of [0, 20, 100, 200]) {
    proxy.set({ kind: "cut-reply", afterBytes, times: 1 });
    await store.addMessages([user(String(afterBytes))]);
  }
  expect(await store.listMessages()).toEqual(["0", "0", "20", "100", "200"].map(user));
});

test.each(["an aborted call", "close()"])("C15 %s ends a request that still connects", async (what) => {
  const signals: (AbortSignal | null | undefined)[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation((_, init) => {
    signals.push(init?.signal);
    return new Promise((_, reject) => init?.signal?.addEventListener("abort", reject));
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const stores = createRedisStores({ client: upstashClient("http://127.0.0.1:65535"), keyPrefix });
  const abort = new AbortController();
  const deletion = rejection(stores.deleteThread("a", { signal: abort.signal }));
  await vi.waitFor(() => expect(signals).toHaveLength(1));
  if (what === "close()") await stores.close();
  else abort.abort();
  expect((await deletion).code).toBe(what === "close()" ? "CLOSED" : "ABORTED");
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});

test("texts that look like values of JSON come back as texts", async () => {
  const stores = createRedisStores({ client: upstashClient((await started).url), keyPrefix });
  const store = stores.open();
  const texts = ["1", "true", "null", '{"a":1}', "OK", "T0s=", "\ufeffé\0日本😀", "\ud800"];
  await store.commit({ append: texts.map(user), metadata: "1" });
  const { entries, metadata } = await store.read();
  expect(entries.map(({ message }) => message)).toEqual(texts.map(user));
  expect(metadata).toBe("1");
});

test("a read sends what the service replied to the write before it", async () => {
  const front = await UpstashServer.start((await sharedServer("redis")).url);
  onTestFinished(() => front.stop());
  const store = createRedisStores({ client: upstashClient(front.url), keyPrefix }).open();
  await store.addMessages([user("1")]);
  await store.listMessages();
  const [write, read] = front.received.slice(-2).map(({ syncToken }) => Number(/\d*$/.exec(`${syncToken}`)));
  expect(read).toBe((write ?? 0) + 1);
});

test("a request that the plan does not allow fails with TOO_LARGE and writes nothing", async () => {
  const { url } = await sharedServer("redis");
  const front = await UpstashServer.start(url, { maxRequestBytes: 1_000_000 });
  onTestFinished(() => front.stop());
  const store = createRedisStores({ client: upstashClient(front.url), keyPrefix }).open();
  await store.addMessages([user("small")]);
  const error = await rejection(store.addMessages([user("x".repeat(2_000_000))]));
  expect(error).toMatchObject({ code: "TOO_LARGE", message: expect.stringContaining("plan") });
  expect(await store.listMessages()).toEqual([user("small")]);
});

test.each([
  [503, "<html>", { code: "UNAVAILABLE", retryable: true }],
  [429, '{"error":"too many"}', { code: "UNAVAILABLE", retryable: true }],
  [401, '{"error":"Unauthorized"}', { code: "UNAVAILABLE", retryable: false }],
  [413, "", { code: "TOO_LARGE" }],
  [307, "", { code: "UNAVAILABLE", retryable: false }],
  [200, "{}", { code: "UNAVAILABLE", retryable: false }],
  [200, "<html>", { code: "UNAVAILABLE", retryable: false }],
  [400, '{"error":"ERR max requests limit exceeded."}', { code: "UNAVAILABLE", retryable: false }],
])("a reply with status %i and the body %s", async (status, body, expected) => {
  const front = await UpstashServer.start((await sharedServer("redis")).url);
  onTestFinished(() => front.stop());
  front.reply = { status, body };
  const store = createRedisStores({ client: upstashClient(front.url), keyPrefix }).open();
  const error = await rejection(store.addMessages([user("a private text")]));
  expect(error).toMatchObject(expected);
  const shown = inspect(error, { depth: null, showHidden: true });
  for (const hidden of [TOKEN, "a private text"]) expect(shown).not.toContain(hidden);
});

test("a client without a url, or with a requester, is refused", () => {
  vi.spyOn(console, "warn").mockReturnValue();
  onTestFinished(() => void vi.restoreAllMocks());
  const requester = { request: async () => ({ result: undefined }) };
  for (const client of [
    new Upstash(requester as never),
    new Upstash({ url: undefined, token: TOKEN }),
    new Upstash({ url: "https://x.upstash.io", token: `${TOKEN}\n${TOKEN}` }),
    new Upstash({ url: `https://user:${TOKEN}@x.upstash.io`, token: TOKEN }),
  ]) {
    const create = () => createRedisStores({ client: client as RedisStoreOptions["client"] & object });
    expect(create).toThrow(StoreError);
    expect(create).not.toThrow(TOKEN);
    expect(create).toThrow(/client must be made with the url and token/);
  }
});
