import type { D1Database, DurableObjectStorage } from "@cloudflare/workers-types";
import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { expect, expectTypeOf, test } from "vitest";
import { createD1Stores, createDurableObjectStores, serveDurableObjectStores } from "../src/index.ts";
import { RemoteDriver } from "../src/remote-driver.ts";
import { makeStorage } from "./storage.ts";

const hello: ChatMessage = { role: "user", content: "Hello" };

/** An object, and the requests that it got. */
function makeObject() {
  const storage = makeStorage();
  const execute = serveDurableObjectStores({ client: storage });
  const sent: { verb: string; body: Record<string, unknown> }[] = [];
  const send = async (request: Request) => {
    sent.push({
      verb: new URL(request.url).pathname.slice(1),
      body: (await request.clone().json()) as never,
    });
    return await execute(request);
  };
  return { storage, sent, send };
}

const verbsOf = ({ sent }: ReturnType<typeof makeObject>) => sent.map(({ verb }) => verb);

test("the bindings of Cloudflare's types are clients", () => {
  type D1Client = Parameters<typeof createD1Stores>[0]["client"];
  type ObjectClient = NonNullable<Parameters<typeof createDurableObjectStores>[0]["client"]>;
  expectTypeOf<D1Database>().toExtend<D1Client>();
  expectTypeOf<DurableObjectStorage>().toExtend<ObjectClient>();
});

test("a Worker and the object have the same threads", async () => {
  const { storage, send } = makeObject();
  const inside = createDurableObjectStores({ client: storage });
  const remote = createDurableObjectStores({ send });
  await remote.open("a").addMessages([hello]);
  await inside.open("a").addMessages([hello]);
  expect(await remote.open("a").listMessages()).toEqual([hello, hello]);
  expect(inside.settings.backend).toBe("durable-object");
  const state = await remote.open("a").serialize();
  expect(await inside.restore(state).listMessages()).toHaveLength(2);
});

test("each verb is one request; the first one that finds no tables makes them, unless setup is false", async () => {
  const object = makeObject();
  const unprepared = createDurableObjectStores({ send: object.send, setup: false }).open("a");
  await expect(unprepared.addMessages([hello])).rejects.toMatchObject({
    code: "UNAVAILABLE",
    retryable: false,
    message: "durable-object: a table does not exist; run setup()",
  });
  object.sent.length = 0;
  const store = createDurableObjectStores({ send: object.send }).open("a");
  await store.addMessages([hello]);
  await store.listMessages();
  expect(verbsOf(object)).toEqual(["commit", "setup", "commit", "read"]);
});

test("a read of a whole thread has no limit, and one of 0 messages has", async () => {
  const { send } = makeObject();
  const store = createDurableObjectStores({ send }).open("a");
  await store.addMessages(Array.from({ length: 200 }, () => hello));
  expect(await store.listMessages()).toHaveLength(200);
  expect(await store.listMessages({ limit: 0 })).toEqual([]);
});

test("a commit is sent without what means nothing in another process, and is never new", async () => {
  const object = makeObject();
  const stores = createDurableObjectStores({ send: object.send });
  await stores.setup();
  object.sent.length = 0;
  const { signal } = new AbortController();
  await stores.open("a").addMessages([hello], { signal });
  const [{ body } = { body: {} }] = object.sent;
  expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["signal"]));
  expect(body).not.toHaveProperty("isNewOperation");
});

test("a commit whose reply was lost is repeated once, within the time that is left", async () => {
  const object = makeObject();
  await createDurableObjectStores({ send: object.send }).setup();
  object.sent.length = 0;
  let isLost = false;
  const send = async (request: Request) => {
    const reply = await object.send(request);
    if (isLost) return reply;
    isLost = true;
    throw new Error("Network connection lost.");
  };
  const store = createDurableObjectStores({ send }).open("a");
  await store.addMessages([hello]);
  expect(await store.listMessages()).toEqual([hello]);
  const [first, second] = object.sent.map(({ body }) => body.sendWithinMs);
  expect(first).toBeUndefined();
  expect(second).toBeGreaterThan(4_000);
  expect(second).toBeLessThan(6_000);
});

test("a commit whose reply was lost is known after 70 others", async () => {
  const { send } = makeObject();
  let operation: string | undefined;
  const lossy = async (request: Request) => {
    const { operationId } = (await request.clone().json()) as { operationId?: string };
    const reply = await send(request);
    if (operation !== undefined || operationId === undefined) return reply;
    operation = operationId;
    const others = createDurableObjectStores({ send }).open("a");
    for (let count = 0; count < 70; count++) await others.addMessages([{ role: "user", content: "other" }]);
    throw new Error("Network connection lost.");
  };
  await createDurableObjectStores({ send }).setup();
  const store = createDurableObjectStores({ send: lossy }).open("a");
  await store.addMessages([hello]);
  const texts = (await store.listMessages()).map(({ content }) => content);
  expect(texts.filter((text) => text === "Hello")).toHaveLength(1);
  expect(texts).toHaveLength(71);
});

test("errors of the object keep their code, and what the driver throws in it stays a StoreError", async () => {
  const { send } = makeObject();
  const stores = createDurableObjectStores({ send });
  await expect(stores.listThreads({ cursor: "none" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const store = stores.open("a");
  const revision = await store.addMessages([hello]);
  await store.addMessages([hello]);
  await expect(store.addMessages([hello], { expectedRevision: revision })).rejects.toMatchObject({
    code: "CONFLICT",
  });
});

test("an unknown error is UNAVAILABLE, with what the object threw as its cause", async () => {
  const { storage, send } = makeObject();
  const store = createDurableObjectStores({ send }).open("a");
  await store.addMessages([hello]);
  storage.transactionSync = () => {
    throw new Error("something strange");
  };
  await expect(store.listMessages()).rejects.toMatchObject({
    code: "UNAVAILABLE",
    retryable: false,
    cause: "Error: something strange",
  });
});

test("a verb that is none of a driver is refused", async () => {
  const { send } = makeObject();
  for (const verb of ["close", "constructor", "classifyError", ""]) {
    const reply = await send(new Request(`https://scrollback/${verb}`, { method: "POST", body: "{}" }));
    expect(await reply.json(), verb).toMatchObject({ error: { code: "UNSUPPORTED" } });
  }
});

test.each(["<html>", "", "null", "7"])(
  "a body that is not a request (%j) is answered with status 400",
  async (body) => {
    const execute = serveDurableObjectStores({ client: makeStorage() });
    const reply = await execute(new Request("https://scrollback/read", { method: "POST", body }));
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ error: { code: "INVALID_ARGUMENT" } });
  },
);

test("a send that does not pass on the body is INVALID_ARGUMENT", async () => {
  const execute = serveDurableObjectStores({ client: makeStorage() });
  const send = ({ url }: Request) => execute(new Request(url, { method: "POST" }));
  const store = createDurableObjectStores({ send }).open("a");
  await expect(store.listMessages()).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("pass on the request that send gets"),
  });
});

test.each<[string, string | null, number, boolean]>([
  ["an empty object", "{}", 200, false],
  ["no JSON", "<html>", 200, false],
  ["an error without a code", '{"error":true}', 200, false],
  ["a failed server", "busy", 503, true],
])("%s in place of a reply is UNAVAILABLE", async (_, body, status, retryable) => {
  const driver = new RemoteDriver(async () => new Response(body, { status }));
  await expect(driver.setup()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable });
});

test("a reply whose body stalls fails after 4 s", async () => {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
  });
  const driver = new RemoteDriver(async () => new Response(body));
  const error = await driver.setup().catch((error: unknown) => error);
  expect(driver.classifyError(error)).toMatchObject({ code: "UNAVAILABLE", retryable: true });
});

test("a request without a reply fails after 4 s, and at once when the driver closes", async () => {
  const driver = new RemoteDriver(() => new Promise(() => {}));
  const request = { prefix: "", limit: 1, cursor: undefined, signal: undefined };
  const error = await driver.list(request).catch((error: unknown) => error);
  expect(driver.classifyError(error)).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  const pending = driver.list(request);
  await driver.close();
  await expect(pending).rejects.toMatchObject({ code: "CLOSED" });
});

/** A D1 binding on SQLite in this process's memory, and the sessions that it made. */
function makeD1() {
  const storage = makeStorage();
  const sessions: string[] = [];
  const prepare = (sql: string, values: unknown[] = []): object => ({
    bind: (...bound: unknown[]) => prepare(sql, bound),
    results: () => storage.sql.exec(sql, ...(values as string[])).toArray(),
  });
  const batch = async (statements: object[]) =>
    storage.transactionSync(() =>
      statements.map((statement) => ({ results: (statement as { results(): unknown[] }).results() })),
    );
  const withSession = (constraint: string) => {
    sessions.push(constraint);
    return { prepare, batch };
  };
  return { sessions, client: { prepare, batch, withSession } as unknown as D1Database };
}

test("each request to D1 is a session that begins at the primary", async () => {
  const { client, sessions } = makeD1();
  const stores: StoreFactory = createD1Stores({ client });
  const store = stores.open("a");
  await store.addMessages([hello]);
  sessions.length = 0;
  await store.addMessages([hello]);
  expect(await store.listMessages()).toHaveLength(2);
  expect(sessions).toEqual(["first-primary", "first-primary"]);
});
