import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { Client } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";

const client = await PGlite.create();
afterAll(() => client.close());

test("stores on a PGlite need no server, and leave it open", async () => {
  const stores = createPostgresStores({ client, maxMessages: 3 });
  await stores.setup();
  await stores.setup();
  const store = stores.open("a");
  await store.addMessages(users(5));
  expect(await store.listMessages()).toEqual(users(5).slice(2));
  await store.commit({ metadata: { title: "NUL \0, lone \ud800" } });
  expect((await store.read()).metadata).toEqual({ title: "NUL \0, lone \ud800" });
  expect((await stores.listThreads()).threads).toMatchObject([{ threadId: "a", count: 3 }]);
  const { rows } = await client.query<{ n: number }>(
    "SELECT sum(octet_length(text))::int AS n FROM scrollback.messages",
  );
  const [sized] = (await stores.listThreads({ sizes: true })).threads;
  expect(sized?.bytes).toBeGreaterThan(Number(rows[0]?.n) + 30);
  await stores.deleteThread("a");
  expect(await store.listMessages()).toEqual([]);
  await stores.close();
  expect((await rejection(store.listMessages())).code).toBe("CLOSED");
  expect((await client.query("SELECT count(*)::int AS n FROM scrollback.messages")).rows).toEqual([{ n: 0 }]);
});

test("what is written in a transaction of a PGlite is undone with it", async () => {
  const outside = createPostgresStores({ client });
  await outside.setup();
  const undone = client.transaction(async (transaction) => {
    const stores = createPostgresStores({ client: transaction });
    await stores.open("b").addMessages(users(1));
    expect(
      (await rejection(stores.open("b").addMessages([user("x")], { expectedRevision: null }))).code,
    ).toBe("CONFLICT");
    await stores.open("b").addMessages([user("2")]);
    expect(await stores.open("b").listMessages()).toEqual(users(2));
    throw new Error("the caller gives up");
  });
  await expect(undone).rejects.toThrow("gives up");
  expect(await outside.open("b").listMessages()).toEqual([]);
});

test("a tenant sees only its own entries and indexes, and has no U+001E", async () => {
  await using stores = createPostgresStores({ client });
  await stores.setup();
  const entry = { version: 0, order: 0, value: 1 };
  const as = (tenant: string) => client.query("SELECT set_config('scrollback.tenant', $1, false)", [tenant]);
  onTestFinished(async () => void (await as("")));
  for (const tenant of ["ab", "a"]) {
    await as(tenant);
    for (const index of ["c", `of ${tenant}`]) await stores.index(index).insert({ key: "k", id: "1" }, entry);
  }
  expect((await stores.listIndexes()).names).toEqual(["c", "of a"]);
  expect(await stores.index("c").remove({ key: "k", id: "1" })).toBe(true);
  expect((await stores.listIndexes()).names).toEqual(["of a"]);
  await as("ab");
  expect((await stores.index("c").list()).entries).toHaveLength(1);
  await as("a\u001eb");
  expect(await rejection(stores.index("c").insert({ key: "k", id: "1" }, entry))).toMatchObject({
    message: expect.stringContaining("U+001E"),
  });
  expect((await rejection(stores.open("x").addMessages(users(1)))).message).toContain("U+001E");
});

test("listen: a watched thread is hinted at commits and deletions of other stores, not at rolled back ones", async () => {
  await using stores = createPostgresStores({ client, listen: true });
  await stores.setup();
  const other = createPostgresStores({ client });
  await other.open("w").addMessages(users(1));
  let hints = 0;
  using watch = stores.watch("w", () => hints++);
  expect(watch).toBeDefined();
  await expect.poll(() => hints).toBe(1);
  await other.open("v").addMessages(users(1));
  const undone = client.transaction(async (transaction) => {
    await createPostgresStores({ client: transaction }).open("w").addMessages(users(1));
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  await other.open("w").addMessages(users(1));
  await expect.poll(() => hints).toBe(2);
  await other.deleteThread("w");
  await expect.poll(() => hints).toBe(3);
});

test("listen needs a connection of its own, and is off without it", async () => {
  await using stores = createPostgresStores({ client });
  expect(stores.watch("w", () => {})).toBeUndefined();
  const url = "postgres://app:hunter2@localhost/app";
  expect(() => createPostgresStores({ client, listen: url })).toThrow(
    "listen must be true: client is a PGlite",
  );
  await client.transaction(async (transaction) => {
    expect(() => createPostgresStores({ client: transaction, listen: true })).toThrow(
      "listen must be left out",
    );
  });
  expect(() => createPostgresStores({ client: new Client(url), listen: true })).toThrow(
    "listen must be a URL",
  );
  for (const listen of [7, "mysql://app:hunter2@localhost", `${url}?sslrootcert=/no/such/hunter.pem`]) {
    const error = await rejection(
      Promise.resolve().then(() => createPostgresStores({ url, listen: listen as string })),
    );
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("listen") });
    expect(error.message).not.toContain("hunter");
  }
});

test("close does not wait for a transaction on the PGlite, and leaves no listener", async () => {
  const held = await PGlite.create();
  onTestFinished(() => held.close());
  const stores = createPostgresStores({ client: held, listen: true });
  await stores.setup();
  const end = Promise.withResolvers<void>();
  onTestFinished(() => end.resolve());
  const began = Promise.withResolvers<void>();
  const transaction = held.transaction(async () => {
    began.resolve();
    await end.promise;
  });
  await began.promise;
  stores.watch("a", () => {});
  await stores.close();
  end.resolve();
  await transaction;
  const channels = () => held.query<{ channel: string }>("SELECT pg_listening_channels() AS channel");
  await expect.poll(async () => (await channels()).rows).toEqual([]);
});

test("a call that a transaction of its own caller holds up fails after 10 seconds, and says what to pass", async () => {
  const stores = createPostgresStores({ client });
  await stores.setup();
  const failed = client.transaction(async () => await rejection(stores.open("held").addMessages(users(1))));
  const error = await failed;
  expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  expect(error?.message).toContain("within client.transaction() pass the transaction as client");
  await stores.open("free").addMessages(users(1));
});

test("a second PGlite on one folder is refused until the first is closed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-pglite-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const first = await PGlite.create(folder);
  await createPostgresStores({ client: first }).setup();
  await createPostgresStores({ client: first }).open("a").addMessages(users(1));
  const second = await PGlite.create(`file://${folder}`);
  const stores = createPostgresStores({ client: second });
  for (const call of [() => stores.setup(), () => stores.open("a").addMessages(users(1))])
    expect(await rejection(call())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("another PGlite"),
    });
  await second.close();
  await first.close();
  const third = await PGlite.create(folder);
  expect(await createPostgresStores({ client: third }).open("a").listMessages()).toEqual(users(1));
  await third.close();
});

test("parsers and serializers of a PGlite change nothing", async () => {
  const oids = [16, 20, 21, 23, 25, 701, 1009, 1021, 1043];
  const parsers = Object.fromEntries(oids.map((oid) => [oid, (value: string) => ({ value })]));
  const serializers = Object.fromEntries(oids.map((oid) => [oid, () => "wrong"]));
  const own = await PGlite.create({ parsers, serializers });
  const stores = createPostgresStores({ client: own, listen: true });
  await stores.setup();
  for (const id of ["a", "b", "c"]) await stores.open(id, { ttlMs: 1e8 }).addMessages(users(2));
  const listed: string[] = [];
  for await (const { threadId } of stores.iterateThreads({ limit: 2 })) listed.push(threadId);
  expect(listed).toEqual(["a", "b", "c"]);
  expect(await stores.open("a").listMessages()).toEqual(users(2));
  const index = stores.index("i");
  const entry = { version: 1, order: 1, value: 1, expiresAt: Date.now() + 1e8 };
  expect(await index.insert({ key: "k", id: "1" }, entry)).toBe(true);
  expect(await index.update({ key: "k", id: "1" }, { ...entry, version: 2 })).toBe(1);
  expect((await index.list()).entries).toEqual([{ key: "k", id: "1", ...entry, version: 2 }]);
  expect(await index.remove({ key: "k", id: "1" })).toBe(true);
  let hints = 0;
  using _watch = stores.watch("a", () => hints++);
  await expect.poll(() => hints).toBe(1);
  await stores.close();
  await own.close();
});
