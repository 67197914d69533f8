import { channel, tracingChannel } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { jsonCodec } from "../src/codec/codec.ts";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";
import type { StoreCall, StoreRetry } from "../src/store/observation.ts";

const calls = {
  commit: tracingChannel<object, StoreCall>("scrollback:commit"),
  read: tracingChannel<object, StoreCall>("scrollback:read"),
};
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

interface Published {
  readonly event: string;
  readonly call: StoreCall;
  /** The call at the time of the event. */
  readonly copy: StoreCall;
}

function listen(): Published[] {
  const published: Published[] = [];
  for (const [operation, traced] of Object.entries(calls)) {
    const note = (event: string) => (call: object) => {
      const one = call as StoreCall;
      published.push({ event: `${operation} ${event}`, call: one, copy: { ...one } });
    };
    const subscribers = {
      start: note("start"),
      end: note("end"),
      asyncStart: note("asyncStart"),
      asyncEnd: note("asyncEnd"),
      error: note("error"),
    };
    traced.subscribe(subscribers);
    cleanups.push(() => traced.unsubscribe(subscribers));
  }
  return published;
}

const hello = { role: "user", content: "hello, secret harbour" } as const;
const endsOf = (published: Published[]) =>
  published.filter(({ event }) => event.endsWith("asyncEnd")).map(({ copy }) => copy);

describe("the channels", () => {
  test("publish one object per call, from start to asyncEnd", async () => {
    const published = listen();
    await createStores(new MemoryDriver()).open("t").addMessages([hello]);
    expect(published.map(({ event }) => event)).toEqual([
      "commit start",
      "commit end",
      "commit asyncStart",
      "commit asyncEnd",
    ]);
    expect(new Set(published.map(({ call }) => call)).size).toBe(1);
    expect(published[0]?.copy).toEqual({
      operation: "commit",
      method: "addMessages",
      backend: "memory",
      target: undefined,
      threadId: "t",
      messages: 0,
      bytes: 0,
      retries: 0,
      durationMs: 0,
    });
  });

  test("give the duration and the outcome of each call, at its error and at asyncEnd", async () => {
    class Slow extends MemoryDriver {
      override async commit(request: Parameters<Driver["commit"]>[0]) {
        await sleep(20);
        return await super.commit(request);
      }
    }
    const store = createStores(new Slow(), {
      onCorruptRecord: () => {
        throw new Error("of the application");
      },
      codec: { encode: jsonCodec.encode, decode: () => JSON.parse("x") },
    }).open("t");
    const published = listen();
    await store.addMessages([hello]);
    await expect(store.addMessages([hello], { expectedRevision: null })).rejects.toThrow();
    await expect(store.listMessages()).rejects.toThrow("of the application");
    const ends = published.filter(({ event }) => /error|asyncEnd/.test(event));
    expect(ends.map(({ event, copy }) => [event, copy.outcome])).toEqual([
      ["commit asyncEnd", "done"],
      ["commit error", "CONFLICT"],
      ["commit asyncEnd", "CONFLICT"],
      ["read error", "_OTHER"],
      ["read asyncEnd", "_OTHER"],
    ]);
    // Timers of Node.js may fire a millisecond early.
    for (const { copy } of ends)
      expect(copy.durationMs).toBeGreaterThan(copy.operation === "commit" ? 18 : 0);
  });

  test("name the method, and count messages and encoded bytes", async () => {
    const driver = new MemoryDriver();
    const store = createStores(driver).open("t");
    const published = listen();
    await store.commit({ append: [hello, hello], metadata: { title: "é" } });
    await store.listMessages({ limit: 1 });
    await store.read();
    await store.popMessage();
    await store.addMessages([]);
    await store.replaceMessages([hello]);
    await store.clear();
    const record = Buffer.byteLength(JSON.stringify(hello));
    const metadata = Buffer.byteLength(JSON.stringify({ title: "é" }));
    const seen = endsOf(published).map(({ operation, method, messages, bytes }) => [
      operation,
      method,
      messages,
      bytes,
    ]);
    expect(seen).toEqual([
      ["commit", "commit", 2, 2 * record + metadata],
      ["read", "listMessages", 1, record],
      ["read", "read", 2, 2 * record + metadata],
      ["read", "popMessage", 1, record],
      ["commit", "popMessage", 0, 0],
      ["read", "addMessages", 0, 0],
      ["commit", "replaceMessages", 1, record],
      ["commit", "clear", 0, 0],
    ]);
  });

  test("contain no message and no metadata, nor as a result", async () => {
    const store = createStores(new MemoryDriver()).open("t");
    const published = listen();
    await store.commit({ append: [hello], metadata: { title: "secret title" } });
    await store.read();
    await store.listMessages();
    await store.popMessage();
    expect(published).toHaveLength(20);
    expect(inspect(published, { depth: 10, showHidden: true })).not.toContain("secret");
  });

  test("report a failed call, and no call refused before any I/O", async () => {
    const store = createStores(new MemoryDriver()).open("t");
    await store.addMessages([hello]);
    const published = listen();
    await expect(store.addMessages([hello], { expectedRevision: null })).rejects.toThrow();
    expect(published.map(({ event }) => event)).toContain("commit error");
    expect(endsOf(published)).toMatchObject([{ method: "addMessages", error: { code: "CONFLICT" } }]);
    published.length = 0;
    await expect(store.addMessages([7 as never])).rejects.toThrow();
    await expect(store.read({ limit: -1 })).rejects.toThrow();
    expect(published).toEqual([]);
  });

  test("report an unreadable record as a failed read", async () => {
    const driver = new MemoryDriver();
    const refuse = { encode: () => "x", decode: () => JSON.parse("x") };
    const store = createStores(driver, { codec: refuse }).open("t");
    await store.addMessages([hello]);
    const published = listen();
    await expect(store.listMessages()).rejects.toThrow();
    await expect(store.popMessage()).rejects.toThrow();
    const corrupt = { messages: 1, error: { code: "CORRUPT", sequence: 1 } };
    expect(endsOf(published)).toMatchObject([corrupt, corrupt]);
  });

  test("report each retry, and the driver's target", async () => {
    const memory = new MemoryDriver();
    let failures = 2;
    const target = { collection: "chats", namespace: "app" };
    const driver: Driver = {
      capabilities: memory.capabilities,
      target,
      commit: (request) => {
        if (failures-- > 0) throw new Error("raw");
        return memory.commit(request);
      },
      read: (request) => memory.read(request),
      delete: (request) => memory.delete(request),
      list: (request) => memory.list(request),
      close: () => memory.close(),
      classifyError: () => ({ code: "UNAVAILABLE", message: "away", retryable: true }),
    };
    const retries: unknown[] = [];
    const onRetry = (message: unknown) => {
      const { call, error } = message as StoreRetry;
      retries.push([call.retries, call.method, error.code]);
    };
    channel("scrollback:retry").subscribe(onRetry);
    cleanups.push(() => channel("scrollback:retry").unsubscribe(onRetry));
    const published = listen();
    await createStores(driver).open("t").addMessages([hello]);
    expect(retries).toEqual([
      [1, "addMessages", "UNAVAILABLE"],
      [2, "addMessages", "UNAVAILABLE"],
    ]);
    expect(endsOf(published)).toMatchObject([{ retries: 2, target }]);
  });
});
