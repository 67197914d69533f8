import { tracingChannel } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import {
  ATTR_DB_COLLECTION_NAME,
  ATTR_DB_NAMESPACE,
  ATTR_DB_OPERATION_NAME,
  ATTR_DB_SYSTEM_NAME,
  ATTR_ERROR_TYPE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
} from "@opentelemetry/semantic-conventions";
import {
  DB_SYSTEM_NAME_VALUE_AWS_DYNAMODB,
  DB_SYSTEM_NAME_VALUE_MONGODB,
  DB_SYSTEM_NAME_VALUE_POSTGRESQL,
  DB_SYSTEM_NAME_VALUE_REDIS,
  DB_SYSTEM_NAME_VALUE_SQLITE,
} from "@opentelemetry/semantic-conventions/incubating";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";
import { createMemoryStores, type StoreCall } from "../src/index.ts";

const exporter = new InMemorySpanExporter();
/** Throws if a test requests it, as a user's processor may do. */
const broken = { isBroken: false };
const breakable: SpanProcessor = {
  onStart: () => {
    if (broken.isBroken) throw new Error("broken processor");
  },
  onEnd: () => {
    if (broken.isBroken) throw new Error("broken processor");
  },
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};

beforeAll(() => {
  // Stores created before the provider is registered create spans too.
  createMemoryStores();
  const spanProcessors = [breakable, new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
beforeEach(() => exporter.reset());

const hello = { role: "user", content: "hello, secret harbour" } as const;
const bytes = Buffer.byteLength(JSON.stringify(hello));
const spans = () => exporter.getFinishedSpans();

/** A memory driver that reports the given backend and target, and runs `during` within each request. */
function driverOf(
  about: { backend?: string; target?: Driver["target"] },
  during: () => Promise<void> = async () => undefined,
): Driver {
  const memory = new MemoryDriver();
  return {
    capabilities: { ...memory.capabilities, ...(about.backend && { backend: about.backend }) },
    target: about.target,
    commit: async (request) => {
      await during();
      return await memory.commit(request);
    },
    read: async (request) => {
      await during();
      return await memory.read(request);
    },
    delete: (request) => memory.delete(request),
    list: (request) => memory.list(request),
    close: () => memory.close(),
    classifyError: () => ({ code: "UNAVAILABLE", message: "away", retryable: true }),
  };
}

test("a commit and a read create one span each, by the semantic conventions for databases", async () => {
  const target = { collection: "chats", namespace: "app", server: { address: "db.example", port: 6379 } };
  const store = createStores(driverOf({ backend: "mongodb", target })).open("t");
  await store.addMessages([hello, hello]);
  await store.listMessages({ limit: 1 });
  const common = {
    [ATTR_DB_SYSTEM_NAME]: DB_SYSTEM_NAME_VALUE_MONGODB,
    [ATTR_DB_COLLECTION_NAME]: "chats",
    [ATTR_DB_NAMESPACE]: "app",
    [ATTR_SERVER_ADDRESS]: "db.example",
    [ATTR_SERVER_PORT]: 6379,
  };
  expect(spans().map(({ name, kind, status, attributes }) => ({ name, kind, status, attributes }))).toEqual([
    {
      name: "commit chats",
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        ...common,
        [ATTR_DB_OPERATION_NAME]: "commit",
        "scrollback.method": "addMessages",
        "scrollback.messages": 2,
        "scrollback.bytes": 2 * bytes,
      },
    },
    {
      name: "read chats",
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        ...common,
        [ATTR_DB_OPERATION_NAME]: "read",
        "scrollback.method": "listMessages",
        "scrollback.messages": 1,
        "scrollback.bytes": bytes,
      },
    },
  ]);
});

test.each([
  ["redis", DB_SYSTEM_NAME_VALUE_REDIS],
  ["mongodb", DB_SYSTEM_NAME_VALUE_MONGODB],
  ["dynamodb", DB_SYSTEM_NAME_VALUE_AWS_DYNAMODB],
  ["postgres", DB_SYSTEM_NAME_VALUE_POSTGRESQL],
  ["sqlite", DB_SYSTEM_NAME_VALUE_SQLITE],
  ["memory", "memory"],
])("%s has its name in the conventions", async (backend, system) => {
  await createStores(driverOf({ backend })).open("t").listMessages();
  expect(spans()[0]?.attributes[ATTR_DB_SYSTEM_NAME]).toBe(system);
  expect(spans()[0]?.name).toBe("read");
});

test("a span is named after the database if it has no collections", async () => {
  await createStores(driverOf({ target: { namespace: "3" } }))
    .open("t")
    .listMessages();
  expect(spans()[0]?.name).toBe("read 3");
});

test("a failed span has the error's code as its type, and does not name the thread", async () => {
  const store = createStores(driverOf({})).open("private-thread");
  await store.addMessages([hello]);
  exporter.reset();
  await expect(store.clear({ expectedRevision: null })).rejects.toThrow();
  const [span] = spans();
  expect(span?.attributes).toMatchObject({ [ATTR_ERROR_TYPE]: "CONFLICT", "scrollback.method": "clear" });
  expect(span?.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(span?.events).toEqual([]);
});

test("retries are events", async () => {
  let failures = 2;
  const during = async () => {
    if (failures-- > 0) throw new Error("raw, with a secret");
  };
  await createStores(driverOf({}, during)).open("t").addMessages([hello]);
  expect(spans()[0]?.events.map(({ name, attributes }) => ({ name, attributes }))).toEqual([
    { name: "retry", attributes: { [ATTR_ERROR_TYPE]: "UNAVAILABLE", "scrollback.retries": 1 } },
    { name: "retry", attributes: { [ATTR_ERROR_TYPE]: "UNAVAILABLE", "scrollback.retries": 2 } },
  ]);
  expect(spans()[0]?.status.code).toBe(SpanStatusCode.UNSET);
});

test("no span contains a message, metadata, a thread id or an operation id", async () => {
  const store = createStores(driverOf({ target: { collection: "chats" } })).open("private-thread");
  const operationId = "private-operation";
  await store.commit({ append: [hello], metadata: { title: "secret title" } }, { operationId });
  await store.read();
  await expect(store.commit({ drop: 1 }, { operationId })).rejects.toThrow(operationId);
  await store.popMessage();
  expect(spans()).toHaveLength(5);
  for (const { name, attributes, events, status, links } of spans()) {
    const shown = inspect([name, attributes, events, status, links], { depth: 10 });
    expect(shown).not.toMatch(/secret|private/);
  }
});

test("a span is a child of the caller's and the parent of the client's, also in concurrent calls", async () => {
  const tracer = trace.getTracer("test");
  const during = async () => {
    await sleep(Math.random() * 5);
    tracer.startSpan("client").end();
  };
  const store = createStores(driverOf({}, during)).open("t");
  await Promise.all(
    ["one", "two", "three"].map((name) =>
      tracer.startActiveSpan(name, async (span) => {
        await store.addMessages([hello]);
        tracer.startSpan(`after ${name}`).end();
        span.end();
      }),
    ),
  );
  const byId = new Map(spans().map((span) => [span.spanContext().spanId, span]));
  const parentOf = (span: ReturnType<typeof spans>[number]) =>
    byId.get(span.parentSpanContext?.spanId ?? "")?.name;
  const commits = spans().filter(({ name }) => name === "commit");
  expect(commits.map(parentOf).sort()).toEqual(["one", "three", "two"]);
  const clients = spans().filter(({ name }) => name === "client");
  expect(new Set(clients.map((span) => span.parentSpanContext?.spanId))).toEqual(
    new Set(commits.map((span) => span.spanContext().spanId)),
  );
  for (const name of ["one", "two", "three"]) {
    expect(
      spans()
        .filter((span) => span.name === `after ${name}`)
        .map(parentOf),
    ).toEqual([name]);
  }
});

test("a subscriber of start can add attributes to the active span", async () => {
  const commits = tracingChannel<object, StoreCall>("scrollback:commit");
  const addThread = (call: unknown) => {
    trace.getActiveSpan()?.setAttribute("app.thread", (call as StoreCall).threadId);
  };
  commits.start.subscribe(addThread);
  await createMemoryStores().open("harmless").addMessages([hello]);
  commits.start.unsubscribe(addThread);
  await createMemoryStores().open("harmless").addMessages([hello]);
  expect(spans().map(({ attributes }) => attributes["app.thread"])).toEqual(["harmless", undefined]);
});

test("a processor that throws breaks no call", async () => {
  const store = createMemoryStores().open("t");
  broken.isBroken = true;
  await store.addMessages([hello]);
  expect(await store.listMessages()).toEqual([hello]);
  broken.isBroken = false;
  // diagnostics_channel rethrows errors of subscribers in the next tick.
  await sleep(1);
});

test("several factories create one span per call", async () => {
  for (let factory = 0; factory < 5; factory++) createMemoryStores();
  await createMemoryStores().open("t").addMessages([hello]);
  expect(spans()).toHaveLength(1);
});
