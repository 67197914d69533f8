import { streamOf } from "@scrollback/collections/internal";
import { aesGcmCodec } from "@scrollback/store-core/codecs";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { inProcessStreams } from "../src/index.ts";
import { scriptedModel } from "./scripted-model.ts";
import { read, serve, textIn, until, user } from "./serve.ts";
import { clockModel, storedStreams, timedWords } from "./streamed.ts";

const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");
const slow = () => scriptedModel({ delayMs: 20 });
const THREAD = streamOf("chats:chat:ada:c");

/** Threads in memory without hints, as most backends have them, and the times of the commits of streams. */
class StreamDriver extends MemoryDriver {
  readonly commits: number[] = [];
  override readonly watch = undefined;

  override async commit(...args: Parameters<MemoryDriver["commit"]>) {
    if (args[0].threadId === THREAD) this.commits.push(performance.now());
    return await super.commit(...args);
  }
}

/** Two servers of the same chats. */
async function serveTwo(options: Parameters<typeof serve>[0] = {}) {
  const driver = new StreamDriver();
  const stores = options.stores ?? createStores(driver);
  const one = await serve({ model: slow(), streams: "stores", ...options, stores });
  const other = await serve({ model: slow(), streams: "stores", ...options, stores });
  return {
    ...{ one, other, stores, driver },
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    },
  };
}

const streamAt = (url: string) => fetch(`${url}/api/chat/c/stream`);

test.concurrent("another server continues a running answer from its beginning, to its end, within a second", async () => {
  await using servers = await serveTwo();
  const { one, other, stores } = servers;
  const answered = one.post({ id: "c", message: user("q", `say ${words(100)}`) });
  await until(async () => (await other.mine.get("c"))?.run);
  await until(async () => (await storedStreams(stores)).includes("w3"));
  const begun = performance.now();
  const responses = await Promise.all(Array.from({ length: 20 }, () => streamAt(other.url)));
  expect(performance.now() - begun).toBeLessThan(1_000);
  const texts = await Promise.all(responses.map(async (response) => textIn((await read(response)).chunks)));
  expect(new Set(texts)).toEqual(new Set([`${words(100)} `]));
  expect(textIn((await answered).chunks)).toBe(`${words(100)} `);
});

test.concurrent("the listeners of a process share one reader, which ends with the last of them", async () => {
  await using servers = await serveTwo();
  const { one, other, driver } = servers;
  const reads: number[] = [];
  const { read: readThread } = driver;
  driver.read = async (request) => {
    if (request.threadId === THREAD) reads.push(performance.now());
    return await readThread.call(driver, request);
  };
  const answered = one.post({ id: "c", message: user("q", `say ${words(150)}`) });
  await until(() => driver.commits.length > 1);
  const responses = await Promise.all(Array.from({ length: 50 }, () => streamAt(other.url)));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  // One when it begins, then 4 a second.
  expect(reads.length).toBeLessThanOrEqual(7);
  await Promise.all(responses.map((response) => response.body?.cancel()));
  await until(async () => {
    const before = reads.length;
    await new Promise((resolve) => setTimeout(resolve, 600));
    return reads.length === before;
  });
  await answered;
});

test.concurrent("a stop on another server ends the answer, and its listeners there get the end", async () => {
  await using servers = await serveTwo();
  const { one, other } = servers;
  const answered = one.post({ id: "c", message: user("q", `say ${words(2_000)}`) });
  await until(async () => (await other.newest("c")).includes("w3"));
  const listening = streamAt(other.url).then(read);
  expect(await (await other.send("POST", "/chat/c/stop")).json()).toEqual({ stopped: true });
  const { chunks } = await listening;
  expect(chunks.at(-1)).toEqual({ type: "abort" });
  expect(textIn(chunks)).toBe(textIn((await answered).chunks));
});

test.concurrent("text is stored at most 4 times a second, and nothing of it 2 s after the end", async () => {
  await using servers = await serveTwo();
  const { one, stores, driver } = servers;
  await one.post({ id: "c", message: user("q", `say ${words(150)}`) });
  const { commits } = driver;
  for (let index = 4; index < commits.length; index++)
    expect((commits[index] ?? 0) - (commits[index - 4] ?? 0)).toBeGreaterThan(990);
  expect(commits.length).toBeGreaterThan(8);
  await until(async () => (await storedStreams(stores)).includes("w149"));
  await new Promise((resolve) => setTimeout(resolve, 2_600));
  expect(await stores.open(THREAD).read()).toMatchObject({ revision: null });
});

test.concurrent("close returns when nothing of an answer is stored, within 2 s", async () => {
  const servers = await serveTwo();
  const { one, other, stores } = servers;
  const answered = one.post({ id: "c", message: user("q", `say ${words(2_000)}`) });
  await until(async () => (await storedStreams(stores)).includes("w3"));
  const listening = streamAt(other.url).then(read);
  const begun = performance.now();
  await one.handler.close();
  expect(performance.now() - begun).toBeLessThan(2_500);
  expect(await stores.open(THREAD).read()).toMatchObject({ revision: null });
  expect((await listening).chunks.at(-1)).toEqual({ type: "abort" });
  await answered;
  await servers[Symbol.asyncDispose]();
});

test.concurrent("a deletion of the chat on another server erases the text at once, and it does not come back", async () => {
  await using servers = await serveTwo();
  const { one, other, stores } = servers;
  const answered = one.post({ id: "c", message: user("q", `say ${words(2_000)}`) });
  await until(async () => (await storedStreams(stores)).includes("w3"));
  await other.mine.delete("c");
  for (let looks = 0; looks < 100; looks++) {
    expect(await storedStreams(stores)).toBe("");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await answered;
  // A new chat with this id has its own stream.
  const again = one.post({ id: "c", message: user("q", `say ${words(100)}`) });
  await until(async () => (await storedStreams(stores)).includes("w3"));
  expect(textIn((await read(await streamAt(other.url))).chunks)).toBe(`${words(100)} `);
  await again;
});

test.concurrent("an answer that follows at once waits until listeners of the one before have its end", async () => {
  await using servers = await serveTwo();
  const { one, other, stores } = servers;
  const first = one.post({ id: "c", message: user("q", `say ${words(60)}`) });
  await until(async () => (await storedStreams(stores)).includes("w3"));
  const listening = streamAt(other.url).then(read);
  await first;
  const second = one.post({ id: "c", message: user("q2", `say ${words(120)}`) });
  expect(textIn((await listening).chunks)).toBe(`${words(60)} `);
  const late = await streamAt(other.url);
  expect(textIn((await read(late)).chunks)).toBe(`${words(120)} `);
  await second;
});

test.concurrent("inProcessStreams turns it off", async () => {
  const driver = new StreamDriver();
  const stores = createStores(driver);
  await using one = await serve({ stores, model: slow(), streams: inProcessStreams() });
  await using other = await serve({ stores, model: slow(), streams: inProcessStreams() });
  const answered = one.post({ id: "c", message: user("q", `say ${words(300)}`) });
  await until(async () => (await other.newest("c")).includes("w3"));
  expect((await streamAt(other.url)).status).toBe(204);
  await answered;
  expect(driver.commits).toEqual([]);
  expect(await storedStreams(stores)).toBe("");
});

test.concurrent("the codec applies: nothing readable is stored", async () => {
  const driver = new StreamDriver();
  const codec = aesGcmCodec({ keys: [{ id: "k", key: new Uint8Array(32).fill(7) }] });
  await using servers = await serveTwo({ stores: createStores(driver, { codec }) });
  const { one, other, stores } = servers;
  const answered = one.post({ id: "c", message: user("q", `say ${words(100)}`) });
  await until(async () => (await storedStreams(stores)).includes("w9"));
  const rawRequest = { threadId: THREAD, limit: 1_000, before: undefined, after: undefined };
  const raw = await driver.read({ ...rawRequest, metadata: true, signal: undefined });
  expect(raw.entries.length).toBeGreaterThan(0);
  expect(JSON.stringify(raw)).not.toMatch(/text-delta|"run"| /);
  expect(textIn((await read(await streamAt(other.url))).chunks)).toBe(`${words(100)} `);
  await answered;
});

test.concurrent("the next list removes the text of a process that died", async () => {
  await using servers = await serveTwo({ store: { leaseMs: 300, beatMs: 100 } });
  const { one, stores, other } = servers;
  const dead = { now: () => Date.now() - 60_000, leaseMs: 300, beatMs: 100 };
  await using dying = await serve({ stores, store: dead, model: slow(), streams: "stores" });
  await one.mine.create({ id: "c", messages: [user("q")] });
  const run = await dying.mine.begin("c", { append: [user("q2")] });
  const thread = stores.open(THREAD, { ttlMs: 60_000 });
  await thread.commit({ append: [{ role: "assistant", content: "text" }], metadata: { run: run.id } });
  const before = await storedStreams(stores);
  await other.mine.list();
  await other.chats.flush();
  const after = await storedStreams(stores);
  await run.end({ status: "stopped" }).catch(() => undefined);
  expect([before, after]).toEqual(["text", ""]);
});

test.concurrent("stores that fail affect neither an answer nor its listeners here; the error is reported", async () => {
  class FailingStreams extends StreamDriver {
    override async commit(...args: Parameters<MemoryDriver["commit"]>) {
      if (args[0].threadId === THREAD) throw new Error("no streams");
      return await super.commit(...args);
    }
  }
  const errors: unknown[] = [];
  const onError = (error: unknown, source: string) => void errors.push(source, String(error));
  await using server = await serve({
    stores: createStores(new FailingStreams()),
    model: slow(),
    streams: "stores",
    store: { onError },
  });
  const answered = server.post({ id: "c", message: user("q", `say ${words(60)}`) });
  await until(async () => (await server.mine.get("c"))?.run);
  expect(textIn((await read(await streamAt(server.url))).chunks)).toBe(`${words(60)} `);
  expect((await answered).status).toBe(200);
  expect(errors).toEqual(["stream", expect.stringContaining("the backend failed")]);
});

test.concurrent("a chunk of megabytes is stored in messages of a limited size, whole", async () => {
  // Each character takes two code units, which must stay together.
  const large = ["x", "xx"].map((start) => start + "\u{1f600}".repeat(400_000)).join(" ");
  await using servers = await serveTwo({ model: scriptedModel({ delayMs: 500 }) });
  const { one, other, stores } = servers;
  const answered = one.post({ id: "c", message: user("q", `say a ${large} b c d`) });
  await until(async () => (await other.mine.get("c"))?.run);
  const listening = streamAt(other.url).then(read);
  await until(async () => (await storedStreams(stores)).includes("b "));
  const messages = await stores.open(THREAD).listMessages();
  for (const { content } of messages) expect(content.length).toBeLessThanOrEqual(262_144);
  expect(messages.every(({ content }) => (content as string).isWellFormed())).toBe(true);
  expect(textIn((await listening).chunks)).toBe(`a ${large} b c d `);
  await answered;
});

test.concurrent("words arrive at another server after less than 400 ms in the median", async () => {
  const clock = clockModel(40);
  await using servers = await serveTwo({ model: clock.model });
  const { one, other, driver } = servers;
  const answered = one.post({ id: "c", message: user("q") });
  await until(() => driver.commits.length > 1);
  const delays: number[] = [];
  for await (const { delay } of timedWords(await streamAt(other.url))) {
    delays.push(delay);
    if (delays.length === 100) clock.end();
  }
  await answered;
  // The first ones had been stored before it listened.
  const sorted = delays.slice(20).toSorted((one, other) => one - other);
  expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(400);
});
