/**
 * `node cli/threads.ts [--threads 2000] [--only redis]`: measures how many threads per second the commands `ls`, `copy` and
 * `verify` process in this process, compared with a loop over the raw client that does the same without the promises. Prints a
 * table for README.md.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import { MongoClient } from "mongodb";
import { Client } from "pg";
import { startServer } from "../../conformance-tests/servers/index.ts";
import { runCli } from "../../packages/cli/dist/index.js";
import { openStores } from "../../packages/store-core/dist/index.js";
import { openRaw, type RawThreads } from "./raw.ts";

const { values } = parseArgs({
  options: { threads: { type: "string", default: "2000" }, only: { type: "string" } },
});
const THREADS = Number(values.threads);
const ROUNDS = 3;
/** The number of threads that the commands process at once. */
const CONCURRENCY = 8;
const MESSAGES = [
  { role: "user" as const, content: "Which tram goes to the harbour, and when does the last one leave?" },
  {
    role: "assistant" as const,
    content: "Line 4, every ten minutes; the last one leaves at half past twelve. ".repeat(4),
  },
];

process.env.AWS_ACCESS_KEY_ID ??= "none";
process.env.AWS_SECRET_ACCESS_KEY ??= "none";
const folder = mkdtempSync(join(tmpdir(), "scrollback-cli-bench-"));

/** Returns the location with this number: a separate file, database or table. */
type Places = (place: number) => Promise<string>;

const backends: Readonly<Record<string, () => Promise<{ places: Places; stop(): Promise<void> }>>> = {
  sqlite: async () => ({
    places: async (place) => `sqlite:${join(folder, `${place}.db`)}`,
    stop: async () => undefined,
  }),
  async redis() {
    const server = await startServer("redis");
    return { places: async (place) => `${server.url}/${place}`, stop: () => server.stop() };
  },
  async mongodb() {
    const server = await startServer("mongodb");
    const places: Places = async (place) => {
      const url = new URL(server.url);
      url.pathname = `/place${place}`;
      return url.href;
    };
    await (await MongoClient.connect(await places(0))).close();
    return { places, stop: () => server.stop() };
  },
  async postgres() {
    const server = await startServer("postgres");
    const places: Places = async (place) => {
      const client = new Client({ connectionString: server.url });
      await client.connect();
      await client.query(`CREATE DATABASE place${place}`).catch(() => undefined);
      await client.end();
      const url = new URL(server.url);
      url.pathname = `/place${place}`;
      return url.href;
    };
    return { places, stop: () => server.stop() };
  },
  async dynamodb() {
    const server = await startServer("dynamodb");
    const places: Places = async (place) =>
      `dynamodb://place${place}?region=eu-central-1&endpoint=${server.url}`;
    return { places, stop: () => server.stop() };
  },
};

/** Runs a command and returns its output. */
async function cli(...args: string[]): Promise<string> {
  let printed = "";
  const collect = () =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        printed += chunk;
        done();
      },
    });
  const { signal } = new AbortController();
  const streams = { stdin: Readable.from([]), stdout: collect(), stderr: collect() };
  const code = await runCli({ args, env: process.env, signal, ...streams });
  if (code !== 0) throw new Error(`scrollback ${args[0]} ended with ${code}: ${printed.slice(0, 500)}`);
  return printed;
}

/** Calls a function for each item, a limited number at once. */
async function forEach<T>(items: Iterable<T>, call: (item: T) => Promise<unknown>): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await call(next.value);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

const threadIds = Array.from({ length: THREADS }, (_, index) => `chat-${index}`);

async function fill(url: string, raw: RawThreads): Promise<void> {
  const stores = await openStores(url);
  await stores.setup();
  await forEach(threadIds, (id) => stores.open(id).addMessages(MESSAGES));
  await stores.close();
  await forEach(threadIds, (id) =>
    raw.write(
      id,
      MESSAGES.map((message) => JSON.stringify(message)),
    ),
  );
}

/** Threads per second. */
async function rate(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return THREADS / ((performance.now() - start) / 1_000);
}

const median = (numbers: readonly number[]) =>
  [...numbers].sort((one, other) => one - other)[ROUNDS >> 1] ?? 0;

async function measure(name: string): Promise<string> {
  const { places, stop } = await (
    backends[name] ?? (() => Promise.reject(new Error(`no such backend: ${name}`)))
  )();
  const open = openRaw[name];
  if (!open) throw new Error(`no raw client for ${name}`);
  try {
    const url = await places(1);
    await using raw = await open(url);
    await fill(url, raw);
    const rates: Record<string, number[]> = {};
    const note = async (what: string, work: () => Promise<unknown>) => {
      rates[what] ??= [];
      rates[what].push(await rate(work));
    };
    for (let round = 0; round < ROUNDS; round++) {
      const target = await places(2 + round);
      await using rawTarget = await open(target);
      await note("ls", () => cli("ls", url, "--json"));
      await note("raw ls", () => raw.list());
      await note("copy", () => cli("copy", url, target));
      await note("raw copy", async () => {
        await forEach((await raw.list()).keys(), async (id) => rawTarget.write(id, await raw.read(id)));
      });
      await note("verify", () => cli("verify", url));
      await note("raw verify", async () => {
        await forEach((await raw.list()).keys(), async (id) =>
          (await raw.read(id)).map((text) => JSON.parse(text)),
        );
      });
    }
    const shown = Object.values(rates).map((all) => Math.round(median(all)).toLocaleString("en"));
    return `| ${[name, ...shown].join(" | ")} |`;
  } finally {
    await stop();
  }
}

try {
  console.log(
    `${THREADS} threads of ${MESSAGES.length} messages; threads a second, the median of ${ROUNDS} rounds\n`,
  );
  console.log(
    "| backend | ls | raw | copy | raw | verify | raw |\n| --- | --- | --- | --- | --- | --- | --- |",
  );
  for (const name of Object.keys(backends)) {
    if (values.only === undefined || values.only === name) console.log(await measure(name));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
