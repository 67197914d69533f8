/** The chat in a Durable Object and in D1, as the answer to a request. */
import { DurableObject } from "cloudflare:workers";
import type { D1Database, DurableObjectNamespace } from "@cloudflare/workers-types";
import { createD1Stores, createDurableObjectStores } from "@scrollback/store-cloudflare";
import { chatOn } from "./program.ts";

interface Env {
  readonly DB: D1Database;
  readonly OBJECTS: DurableObjectNamespace;
}

export class Chats extends DurableObject {
  chat(): Promise<unknown> {
    return chatOn(createDurableObjectStores({ client: this.ctx.storage }));
  }
}

export default {
  async fetch(_: Request, env: Env): Promise<Response> {
    const { OBJECTS } = env;
    const object = OBJECTS.get(OBJECTS.idFromName("ada")) as unknown as Pick<Chats, "chat">;
    return Response.json([await object.chat(), await chatOn(createD1Stores({ client: env.DB }))]);
  },
};
