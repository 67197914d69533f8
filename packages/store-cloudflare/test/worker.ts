/**
 * The Worker of the tests: `/answer/<owner>/<waits or not>/api/…` are the routes of slow chats on D1; `/d1/<prefix>/<verb>` and `/object/<name>/<verb>` execute verbs of a driver, `sql` executes statements;
 * `/<driver>/<data>/<verb>` those of a driver that an object holds, with its connections, `raw` what the suite does beside it, `close`
 * closes it.
 */
import { DurableObject } from "cloudflare:workers";
import type { D1Database, DurableObjectNamespace } from "@cloudflare/workers-types";
import { createChatHandler, uiMessages } from "@scrollback/bridge-ai-sdk";
import { ChatStore } from "@scrollback/chats";
import { DocumentDriver } from "@scrollback/documents";
import { type SqliteClient, SqliteDocuments } from "@scrollback/documents/sqlite";
import { createMemoryStores } from "@scrollback/store-core";
import type { EntryIndex } from "@scrollback/store-core/driver";
import { createPostgresStores } from "@scrollback/store-postgres";
import { createRedisStores } from "@scrollback/store-redis";
import { simulateReadableStream, type UIMessage, type UIMessageChunk } from "ai";
import { chatOn } from "../../../test/runtimes/program.ts";
import { D1Client } from "../src/d1-client.ts";
import { DurableObjectClient } from "../src/durable-object-client.ts";
import { createD1Stores, createDurableObjectStores, serveDurableObjectStores } from "../src/index.ts";
import { serve } from "../src/protocol.ts";
import { type DriverName, drivers, type OpenDriver } from "./drivers.ts";

interface Env {
  readonly DB: D1Database;
  readonly OBJECTS: DurableObjectNamespace;
  readonly DRIVERS: DurableObjectNamespace;
}

/** The methods of an object that holds a driver, as its stub has them. */
interface DriverStub {
  execute(name: DriverName, data: unknown, request: Request): Promise<Response>;
}

/** The methods of an object, as its stub has them. */
interface Stub {
  scrollback(request: Request): Promise<Response>;
  sql(request: Request): Promise<Response>;
  chat(): Promise<unknown>;
}

export class Chats extends DurableObject {
  readonly #serve = serveDurableObjectStores({ client: this.ctx.storage });

  scrollback(request: Request): Promise<Response> {
    return this.#serve(request);
  }

  sql(request: Request): Promise<Response> {
    return execute(new DurableObjectClient(this.ctx.storage), request);
  }

  chat(): Promise<unknown> {
    return chatOn(createDurableObjectStores({ client: this.ctx.storage }));
  }
}

export class HeldDriver extends DurableObject {
  #opened: Promise<OpenDriver> | undefined;

  async execute(name: DriverName, data: unknown, request: Request): Promise<Response> {
    const verb = new URL(request.url).pathname.slice(1);
    if (verb === "close") {
      await (await this.#opened)?.driver.close();
      return new Response();
    }
    this.#opened ??= drivers[name](data);
    const { driver, raw, requestCount } = await this.#opened;
    if (verb === "raw") {
      const [method, parameters] = (await request.json()) as [keyof NonNullable<typeof raw>, unknown[]];
      const call = raw?.[method] as ((...parameters: unknown[]) => Promise<unknown>) | undefined;
      return Response.json((await call?.(...parameters)) ?? null);
    }
    const reply = await serve(driver, driver.index as EntryIndex)(request);
    reply.headers.set("requests", String(requestCount()));
    return reply;
  }
}

function slowly(): ReadableStream<UIMessageChunk> {
  const text = (delta: string): UIMessageChunk => ({ type: "text-delta", id: "t", delta });
  const chunks: UIMessageChunk[] = [
    { type: "text-start", id: "t" },
    ...["One", " two", " three", " four"].map(text),
    { type: "text-end", id: "t" },
  ];
  return simulateReadableStream({ chunks, chunkDelayInMs: 300 });
}

async function execute(client: SqliteClient, request: Request): Promise<Response> {
  try {
    return Response.json({ rows: await client.batch((await request.json()) as never) });
  } catch (error) {
    return Response.json({ error: String(error) });
  }
}

export default {
  async fetch(
    request: Request,
    env: Env,
    ctx: { waitUntil(work: Promise<unknown>): void },
  ): Promise<Response> {
    const [, kind = "", namespace = "", verb = "", ...rest] = new URL(request.url).pathname.split("/");
    const verbRequest = () => new Request(`https://scrollback/${verb}`, request);
    if (kind in drivers) {
      const holder = env.DRIVERS.get(env.DRIVERS.idFromName(namespace)) as unknown as DriverStub;
      const { data } = JSON.parse(decodeURIComponent(namespace));
      return await holder.execute(kind as DriverName, data, verbRequest());
    }
    const stub = env.OBJECTS.get(env.OBJECTS.idFromName(namespace)) as unknown as Stub;
    if (kind === "object")
      return verb === "sql" ? await stub.sql(request) : await stub.scrollback(verbRequest());
    const client = new D1Client(env.DB);
    if (kind === "d1") {
      if (verb === "sql") return await execute(client, request);
      const documents = new SqliteDocuments(client, namespace);
      return await serve(new DocumentDriver(documents), documents.index)(verbRequest());
    }
    if (kind === "chat") {
      const { redis, postgres } = JSON.parse(decodeURIComponent(namespace));
      // A request cannot use the sockets of another one, so it opens its own.
      return Response.json({
        memory: await chatOn(createMemoryStores()),
        redis: await chatOn(createRedisStores(redis)),
        postgres: await chatOn(createPostgresStores(postgres)),
      });
    }
    if (kind === "answer") {
      const chats = new ChatStore<UIMessage>({ stores: createD1Stores({ client: env.DB }), ...uiMessages() });
      const handler = createChatHandler({ chats, generate: slowly });
      const waitUntil = (work: Promise<void>) => ctx.waitUntil(work);
      return await handler.fetch(new Request(`https://scrollback/${rest.join("/")}`, request), {
        owner: namespace,
        ...(verb === "waits" && { waitUntil }),
      });
    }
    // The chat of test/runtimes, on the stores of each kind.
    const other = env.OBJECTS.get(env.OBJECTS.newUniqueId()) as unknown as Stub;
    const send = (sent: Request) => other.scrollback(sent);
    return Response.json({
      inside: await stub.chat(),
      remote: await chatOn(createDurableObjectStores({ send })),
      d1: await chatOn(createD1Stores({ client: env.DB })),
    });
  },
};
