import { createRequire } from "node:module";
import { Pool as NeonPool } from "@neondatabase/serverless";
import { startServer } from "@scrollback/conformance/servers";
import { defaults, Pool, type PoolClient, type PoolConfig, types } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeSchema, type TestSchema } from "./schema.ts";
import { createVector } from "./vector.ts";
import { startNeonProxy } from "./websocket-proxy.ts";

// Pools of both ends of the peer range, and of a package with the same API: with connections in transactions, and with any parsers.

const server = startServer("postgres");
let used: TestSchema;
let proxy: Awaited<ReturnType<typeof startNeonProxy>>;
beforeAll(async () => {
  const { url } = await server;
  proxy = await startNeonProxy(url);
  await createVector(url);
  used = await makeSchema(url);
});
afterAll(async () => {
  await used[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await (await server).stop();
});

const oldest = createRequire(import.meta.url)("pg-8.16") as { Pool: typeof Pool };
const pools: Readonly<Record<string, typeof Pool>> = {
  "the newest pg": Pool,
  "the oldest pg of the peer range": oldest.Pool,
  "@neondatabase/serverless": NeonPool as unknown as typeof Pool,
};

function open(name: string, options: PoolConfig = {}): Pool {
  const pool = new (pools[name] ?? Pool)({ connectionString: used.url, ...options });
  pool.on("error", () => undefined);
  onTestFinished(() => pool.end());
  return pool;
}

describe.each(Object.keys(pools))("connections of %s that were given back", (name) => {
  /** A pool whose only connection is in a transaction that its owner left open. */
  async function leaking(statement = "BEGIN"): Promise<Pool> {
    const pool = open(name, { max: 1 });
    const connection = await pool.connect();
    await connection.query(statement);
    connection.release();
    return pool;
  }

  test.each(["BEGIN", "BEGIN; SELECT 1/0"])("in a transaction lose nothing: %s", async (statement) => {
    const client = await leaking();
    if (statement !== "BEGIN") await rejection(client.query("SELECT 1/0"));
    await using stores = createPostgresStores({ client, schema: used.schema });
    const store = stores.open();
    await store.addMessages(users(1));
    await using others = createPostgresStores({ url: used.url, schema: used.schema });
    expect(await others.open(store.threadId).listMessages()).toEqual(users(1));
  });

  test("in a transaction do not read an older state", async () => {
    const client = await leaking("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await client.query("SELECT 1");
    await using others = createPostgresStores({ url: used.url, schema: used.schema });
    const other = others.open();
    await other.addMessages(users(1));
    await using stores = createPostgresStores({ client, schema: used.schema });
    expect(await stores.open(other.threadId).listMessages()).toEqual(users(1));
  });

  test("in a transaction do not insert an entry, and do not set a schema up, without an error", async () => {
    const entry = { version: 1, order: 0, value: 1 };
    await using stores = createPostgresStores({ client: await leaking(), schema: used.schema });
    const place = { key: name, id: "1" };
    expect((await rejection(stores.index("open").insert(place, entry))).message).toContain("roll back");
    expect(await stores.index("open").insert(place, entry)).toBe(true);
    const schema = `${used.schema.slice(0, 50)} 2`;
    await using absent = createPostgresStores({ client: await leaking(), schema });
    await absent.setup();
    onTestFinished(
      async () => void (await used.pool.query(`DROP SCHEMA "${schema.replaceAll('"', '""')}" CASCADE`)),
    );
    await using others = createPostgresStores({ url: used.url, schema });
    expect(await others.open("a").listMessages()).toEqual([]);
  });
});

test("a pool whose connections do not tell their state is refused before anything is written", async () => {
  const client = open("the newest pg");
  const connect: (told: (...given: [Error | undefined, PoolClient | undefined]) => void) => void =
    client.connect.bind(client);
  const untold = (connection: PoolClient) =>
    new Proxy(connection, {
      get(target, property) {
        if (property === "connection" || property === "getTransactionStatus") return undefined;
        const value: unknown = Reflect.get(target, property);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  Reflect.set(client, "connect", (told: Parameters<typeof connect>[0]) =>
    connect((error, connection) => told(error, connection && untold(connection))),
  );
  await using stores = createPostgresStores({ client, schema: used.schema });
  const error = await rejection(stores.open("untold").addMessages(users(1)));
  expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("transaction") });
  await using others = createPostgresStores({ url: used.url, schema: used.schema });
  expect(await others.open("untold").listMessages()).toEqual([]);
});

/** The types of all columns, of texts, and of what a server may send for them. */
const OIDS = [16, 17, 18, 19, 20, 21, 23, 25, 26, 114, 700, 701, 1009, 1021, 1043, 1184, 1700, 2205, 3802];

/** Sets parsers for all clients of pg, until the test has ended. */
function setGlobalParsers(parse: (value: string) => unknown): void {
  for (const oid of OIDS) {
    const before = types.getTypeParser(oid as never, "text");
    types.setTypeParser(oid as never, parse);
    onTestFinished(() => types.setTypeParser(oid as never, before));
  }
}

const typesOf = (parse: (value: string) => unknown) =>
  ({ types: { getTypeParser: () => parse } }) as unknown as PoolConfig;

const settings: Readonly<Record<string, () => PoolConfig>> = {
  "no settings": () => ({}),
  "types that return texts": () => typesOf((value) => value),
  "types that return numbers": () => typesOf(Number),
  "types that throw": () =>
    typesOf(() => {
      throw new Error("parsed");
    }),
  "global parsers that return texts": () => {
    setGlobalParsers((value) => value);
    return {};
  },
  "global parsers that return objects": () => {
    setGlobalParsers((value) => ({ value }));
    return {};
  },
  "the option binary": () => ({ binary: true }) as PoolConfig,
  "binary in the defaults": () => {
    const before: unknown = Reflect.get(defaults, "binary");
    Reflect.set(defaults, "binary", true);
    onTestFinished(() => void Reflect.set(defaults, "binary", before));
    return {};
  },
  "binary, and parsers that return numbers": () => ({ ...typesOf(Number), binary: true }) as PoolConfig,
};

describe.each(Object.keys(pools))("a Pool of %s", (name) => {
  test.each(Object.keys(settings))("reads and writes the same with %s", async (setting) => {
    const client = open(name, { max: 2, ...settings[setting]?.() });
    const prefix = crypto.randomUUID();
    await using stores = createPostgresStores({ client, schema: used.schema, listen: true });
    await stores.setup();
    const listed = async () => {
      const ids: string[] = [];
      for await (const { threadId, count } of stores.iterateThreads({ prefix, limit: 2 }))
        ids.push(`${threadId}: ${count}`);
      return ids;
    };
    for (const id of ["é\0", "\ud83d\ude00", "true", "1"])
      await stores
        .open(`${prefix}${id}`, { ttlMs: 1e8 })
        .commit({ append: [user("1"), user("\0é")], metadata: { id } });
    expect((await listed()).toSorted()).toEqual(["1", "true", "é\0", "😀"].map((id) => `${prefix}${id}: 2`));
    const page = await stores.open(`${prefix}1`).read();
    expect(page).toMatchObject({ count: 2, metadata: { id: "1" }, expiresAt: expect.any(Number) });
    expect(page.entries.map(({ sequence, message }) => [sequence, message.content])).toEqual([
      [1, "1"],
      [2, "\0é"],
    ]);
    const index = stores.index(prefix);
    const place = { key: "k", id: "t" };
    const content = {
      version: 1,
      order: -1.5,
      value: { a: "é" },
      expiresAt: Date.now() + 1e8,
      vectors: [[1, 0]],
    };
    expect(await index.insert(place, content)).toBe(true);
    expect(await index.insert(place, content)).toBe(false);
    expect(await index.update(place, { ...content, version: 2 })).toBe(1);
    const { vectors: _, ...stored } = { ...place, ...content, version: 2 };
    expect((await index.list()).entries).toEqual([stored]);
    expect(await index.entriesOf("k")).toEqual([stored]);
    expect(await index.nearest([1, 0])).toEqual([{ ...stored, score: 1 }]);
    expect((await stores.listIndexes({ prefix })).names).toEqual([prefix]);
    expect(await index.remove(place)).toBe(true);
    expect(await index.remove(place)).toBe(false);
    let hints = 0;
    using _watch = stores.watch(`${prefix}1`, () => hints++);
    await expect.poll(() => hints).toBe(1);
    for await (const { threadId } of stores.iterateThreads({ prefix, limit: 2 }))
      await stores.deleteThread(threadId);
    await expect.poll(() => hints).toBe(2);
    expect(await listed()).toEqual([]);
  });
});
