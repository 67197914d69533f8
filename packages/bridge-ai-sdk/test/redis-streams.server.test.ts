import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { expect, onTestFinished, test } from "vitest";
import { clients } from "../../store-redis/test/connection.ts";
import { redisStreams } from "../src/redis.ts";
import type { RedisStreamsClient } from "../src/streams/redis-client.ts";
import { redisUrl } from "./processes.ts";
import { scriptedModel } from "./scripted-model.ts";
import { read, serve, textIn, until, user } from "./serve.ts";

/** The streams of a process, on its own connection. */
async function connect(
  keyPrefix: string = randomUUID(),
  options: { url?: string; Client?: typeof Redis } = {},
) {
  const { Client = Redis } = options;
  const redis = new Client(options.url ?? (await redisUrl()), { maxRetriesPerRequest: 1 });
  const errors: unknown[] = [];
  redis.on("error", () => undefined);
  const streams = redisStreams({ redis, keyPrefix, onError: (error) => void errors.push(error) });
  onTestFinished(async () => {
    await streams.close();
    redis.disconnect();
  });
  return { redis, streams, errors };
}

/** A stream that the test writes. */
function written() {
  const { readable, writable } = new TransformStream<string, string>();
  return { readable, writer: writable.getWriter() };
}

async function textOf(stream: ReadableStream<string> | undefined): Promise<string> {
  const texts: string[] = [];
  for await (const text of stream ?? []) texts.push(text);
  return texts.join("");
}

test("many other listeners resume an answer from its beginning, until it has ended", async () => {
  const prefix = randomUUID();
  const [one, other] = [await connect(prefix), await connect(prefix)];
  const { readable, writer } = written();
  expect(await other.streams.resume("r")).toBeUndefined();
  one.streams.publish("r", readable);
  await writer.write("a");
  await writer.write("b");
  const listeners = await Promise.all([
    until(() => other.streams.resume("r")),
    until(() => other.streams.resume("r")),
    until(() => one.streams.resume("r")),
  ]);
  await writer.write("c");
  const [left, ...staying] = listeners;
  await left?.cancel();
  await writer.write("d");
  await writer.close();
  expect(await Promise.all(staying.map(textOf))).toEqual(["abcd", "abcd"]);
  await until(async () => (await other.streams.resume("r")) === undefined);
  expect([...one.errors, ...other.errors]).toEqual([]);
});

test("the listeners of a process are one for the process that makes the answer", async () => {
  const prefix = randomUUID();
  const [one, other] = [await connect(prefix), await connect(prefix)];
  const { readable, writer } = written();
  one.streams.publish("r", readable);
  await writer.write("a");
  const listeners = await Promise.all(
    Array.from({ length: 100 }, () => until(() => other.streams.resume("r"))),
  );
  const { sent } = countMessages(one.redis);
  for (const text of ["b", "c", "d"]) await writer.write(text);
  await writer.close();
  expect(new Set(await Promise.all(listeners.map(textOf)))).toEqual(new Set(["abcd"]));
  expect(sent()).toBe(4);
});

test("a listener behind which others have left starts again from the beginning", async () => {
  const prefix = randomUUID();
  const [one, other] = [await connect(prefix), await connect(prefix)];
  const { readable, writer } = written();
  one.streams.publish("r", readable);
  await writer.write("a");
  for (let round = 0; round < 3; round++) await (await until(() => other.streams.resume("r"))).cancel();
  const last = await until(() => other.streams.resume("r"));
  await writer.write("b");
  await writer.close();
  expect(await textOf(last)).toBe("ab");
});

/** Counts the messages that a client publishes. */
function countMessages(redis: Redis) {
  let count = 0;
  const publish = redis.publish.bind(redis);
  redis.publish = ((...args: Parameters<typeof publish>) => {
    count += 1;
    return publish(...args);
  }) as typeof redis.publish;
  return { sent: () => count };
}

test.each(["iovalkey", "node-redis 6", "node-redis 5"] as const)("%s and ioredis together", async (name) => {
  const prefix = randomUUID();
  const { client, use, close } = clients[name].for(await redisUrl());
  await use();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const streams = redisStreams({ redis: client as RedisStreamsClient, keyPrefix: prefix, onError });
  onTestFinished(async () => {
    await streams.close();
    close();
  });
  const current = await connect(prefix);
  for (const [one, other] of [
    [streams, current.streams],
    [current.streams, streams],
  ] as const) {
    const { readable, writer } = written();
    const id = randomUUID();
    one.publish(id, readable);
    await writer.write("a");
    const listener = await until(() => other.resume(id));
    const stopped = new Promise<void>((resolve) => one.onStop(id, resolve));
    await writer.write("b");
    await until(async () => {
      await other.stop(id);
      return await Promise.race([stopped.then(() => true), sleep(50)]);
    });
    await writer.close();
    expect(await textOf(listener)).toBe("ab");
    // The channel was subscribed twice, and each message comes once.
    let stops = 0;
    const countStop = () => {
      stops += 1;
    };
    for (let round = 0; round < 2; round++) one.onStop(`${id}-2`, countStop);
    await until(async () => {
      if (stops === 0) await other.stop(`${id}-2`);
      await sleep(50);
      return stops > 0;
    });
    expect(stops).toBe(1);
  }
  expect([...errors, ...current.errors]).toEqual([]);
});

test("ioredis 5 and 6 together", async () => {
  const prefix = randomUUID();
  const old = await connect(prefix, { Client: Redis5 as unknown as typeof Redis });
  const current = await connect(prefix);
  for (const [one, other] of [
    [old, current],
    [current, old],
  ] as const) {
    const { readable, writer } = written();
    const id = randomUUID();
    one.streams.publish(id, readable);
    await writer.write("a");
    const listener = await until(() => other.streams.resume(id));
    await writer.write("b");
    await writer.close();
    expect(await textOf(listener)).toBe("ab");
  }
  expect([...old.errors, ...current.errors]).toEqual([]);
});

test("prefixes are separate", async () => {
  const [one, other] = [await connect(), await connect()];
  const { readable, writer } = written();
  one.streams.publish("r", readable);
  await writer.write("a");
  await until(() => one.streams.resume("r"));
  expect(await other.streams.resume("r")).toBeUndefined();
  await writer.close();
});

test("stop reaches the process that makes the answer, until it no longer listens", async () => {
  const prefix = randomUUID();
  const [one, other] = [await connect(prefix), await connect(prefix)];
  let stops = 0;
  const forget = one.streams.onStop("r", () => void stops++);
  await until(async () => {
    await other.streams.stop("r");
    return stops > 0;
  });
  await other.streams.stop("another");
  forget();
  const before = stops;
  await other.streams.stop("r");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(stops).toBeLessThanOrEqual(before + 1);
  await other.streams.stop("r");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(stops).toBeLessThanOrEqual(before + 1);
});

test("a dead producer does not reply, which takes some seconds", async () => {
  const prefix = randomUUID();
  const [one, other] = [await connect(prefix), await connect(prefix)];
  const { readable, writer } = written();
  one.streams.publish("r", readable);
  await writer.write("a");
  const listener = await until(() => other.streams.resume("r"));
  await listener.cancel();
  await one.streams.close();
  const begun = Date.now();
  await expect(other.streams.resume("r")).rejects.toThrow("ack");
  expect(Date.now() - begun).toBeLessThan(10_000);
});

test("without Redis, answers are still generated, stored and stopped, and the error is reported", async () => {
  const { streams, errors } = await connect(undefined, { url: "redis://127.0.0.1:1" });
  await using server = await serve({ model: scriptedModel({ delayMs: 10 }), streams });
  const { status, chunks } = await server.post({ id: "c", message: user("q", "say one two") });
  expect([status, textIn(chunks)]).toEqual([200, "one two "]);
  expect(await server.stored("c")).toHaveLength(2);
  expect(server.errors).toEqual([]);

  const answered = server.post({ id: "c", message: user("q2", `say ${"word ".repeat(2_000)}`) });
  await until(async () => (await server.stored("c"))?.length === 4);
  expect(await (await fetch(`${server.url}/api/chat/c/stream`)).text()).toBe("");
  expect(await (await server.send("POST", "/chat/c/stop")).json()).toEqual({ stopped: true });
  expect((await answered).chunks.at(-1)).toMatchObject({ type: "abort" });
  expect(errors.length).toBeGreaterThan(0);
});

test("the keys expire, and contain no text", async () => {
  const prefix = randomUUID();
  const { redis, streams } = await connect(prefix);
  await using server = await serve({ streams });
  const { chunks } = await server.post({ id: "c", message: user("q", "say secret") });
  expect(textIn(chunks)).toBe("secret ");
  const keys = await until(async () => {
    const found = await redis.keys(`${prefix}*`);
    return found.length > 0 && found;
  });
  for (const key of keys) {
    expect(await redis.ttl(key)).toBeGreaterThan(0);
    expect(await redis.get(key)).not.toContain("secret");
  }
  expect(await read(await fetch(`${server.url}/api/chat/c/stream`))).toMatchObject({
    chunks: expect.arrayContaining([{ type: "finish" }]),
  });
});
