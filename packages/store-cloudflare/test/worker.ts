/** The Worker of the tests: `/d1/<prefix>/<verb>` and `/object/<name>/<verb>` execute verbs of a driver, `sql` executes statements. */
import { DurableObject } from "cloudflare:workers";
import type { D1Database, DurableObjectNamespace } from "@cloudflare/workers-types";
import { DocumentDriver } from "@scrollback/documents";
import { type SqliteClient, SqliteDocuments } from "@scrollback/documents/sqlite";
import { chatOn } from "../../../test/runtimes/program.ts";
import { D1Client } from "../src/d1-client.ts";
import { DurableObjectClient } from "../src/durable-object-client.ts";
import { createD1Stores, createDurableObjectStores, serveDurableObjectStores } from "../src/index.ts";
import { serve } from "../src/protocol.ts";

interface Env {
  readonly DB: D1Database;
  readonly OBJECTS: DurableObjectNamespace;
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

async function execute(client: SqliteClient, request: Request): Promise<Response> {
  try {
    return Response.json({ rows: await client.batch((await request.json()) as never) });
  } catch (error) {
    return Response.json({ error: String(error) });
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [, kind = "", namespace = "", verb = ""] = new URL(request.url).pathname.split("/");
    const stub = env.OBJECTS.get(env.OBJECTS.idFromName(namespace)) as unknown as Stub;
    const verbRequest = () => new Request(`https://scrollback/${verb}`, request);
    if (kind === "object")
      return verb === "sql" ? await stub.sql(request) : await stub.scrollback(verbRequest());
    const client = new D1Client(env.DB);
    if (kind === "d1") {
      if (verb === "sql") return await execute(client, request);
      const documents = new SqliteDocuments(client, namespace);
      return await serve(new DocumentDriver(documents), documents.index)(verbRequest());
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
