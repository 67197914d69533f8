// Measures the option `listen` of the stores on PostgreSQL: node --conditions=scrollback-source benchmarks/src/live.ts [url]
// The figures are in docs/reference/store-postgres.md, Live.
import { randomUUID } from "node:crypto";
import { loadavg } from "node:os";
import { ChatStore } from "@scrollback/chats";
import { startServer } from "@scrollback/conformance/servers";
import { createPostgresStores } from "@scrollback/store-postgres";
import type { UIMessage } from "ai";
import { median, percentile } from "./statistics.ts";

const ROUNDS = 300;
const APPENDS = 3_000;

const given = process.argv[2];
await using server = given === undefined ? await startServer("postgres") : undefined;
const options = { url: given ?? server?.url ?? "", schema: `live_${randomUUID().replaceAll("-", "")}` };
await using writing = createPostgresStores(options);
await using listening = createPostgresStores({ ...options, listen: true });
await writing.setup();

/** The times in milliseconds from the return of an append to the yield of `follow`, on another connection. */
async function followed(): Promise<number[]> {
  const writer = new ChatStore<UIMessage>({ stores: writing }).of("ada");
  const controller = new AbortController();
  const follower = new ChatStore<UIMessage>({ stores: listening }).of("ada");
  await writer.create({ id: "c" });
  const changes = follower.follow("c", { signal: controller.signal })[Symbol.asyncIterator]();
  await changes.next();
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const change = changes.next().then(() => performance.now());
    await writer.append("c", [{ id: `m${round}`, role: "user", parts: [{ type: "text", text: "Hello" }] }]);
    const written = performance.now();
    times.push((await change) - written);
  }
  controller.abort();
  return times.slice(ROUNDS / 10);
}

/** The times of an append to a thread that nobody watches, and to one that is watched, in turns. */
async function appended(): Promise<{ unwatched: number[]; watched: number[] }> {
  const times = { unwatched: [] as number[], watched: [] as number[] };
  const append = async (threadId: "unwatched" | "watched") => {
    const began = performance.now();
    await writing.open(threadId).addMessages([{ role: "user", content: "x".repeat(400) }]);
    times[threadId].push(performance.now() - began);
  };
  await append("watched");
  const begun = Promise.withResolvers<void>();
  using _watch = listening.watch("watched", () => begun.resolve());
  await begun.promise;
  for (let count = 0; count < APPENDS; count++) {
    await append("unwatched");
    await append("watched");
  }
  return times;
}

const follow = await followed();
const { unwatched, watched } = await appended();
console.log({
  server: server?.version,
  load: loadavg()[0],
  follow: { median: median(follow), p99: percentile(follow, 99) },
  append: {
    unwatched: median(unwatched),
    watched: median(watched),
    ratio: median(watched) / median(unwatched),
  },
});
