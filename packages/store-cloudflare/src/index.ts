import { DocumentDriver } from "@scrollback/documents";
import { SqliteDocuments } from "@scrollback/documents/sqlite";
import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores, type TraitsOption } from "@scrollback/store-core/driver";
import { D1Client } from "./d1-client.ts";
import { DurableObjectClient } from "./durable-object-client.ts";
import {
  type D1StoreOptions,
  type DurableObjectStoreOptions,
  parseD1Options,
  parseDurableObjectOptions,
  parseServedOptions,
  type ServedOptions,
} from "./options.ts";
import { type Send, serve } from "./protocol.ts";
import { RemoteDriver } from "./remote-driver.ts";

export type { D1StoreOptions, DurableObjectStoreOptions } from "./options.ts";

/**
 * Creates stores on a D1 database, which all Workers with the binding share. Reads go to the primary. The first call that finds no
 * tables creates them. Cheap: create them for each request of a Worker.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
 * @example
 * const stores = createD1Stores({ client: env.DB, maxMessages: 200 });
 * await stores.open("chat-1").addMessages([{ role: "user", content: "Hello" }]);
 */
export function createD1Stores<M = ChatMessage>(
  options: D1StoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { client, tablePrefix, storeOptions } = parseD1Options(options);
  const documents = new SqliteDocuments(new D1Client(client), tablePrefix);
  return createStores(new DocumentDriver(documents), storeOptions);
}

/**
 * Creates stores in the SQLite of a Durable Object: inside the object with `client`, from a Worker or another object with `send`. The
 * first call that finds no tables creates them.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, or not exactly one of `client` and `send`.
 * @example
 * const stores = createDurableObjectStores({ client: this.ctx.storage });
 * @example
 * const stores = createDurableObjectStores({ send: (request) => env.CHATS.getByName("ada").scrollback(request) });
 */
export function createDurableObjectStores<M = ChatMessage>(
  options: DurableObjectStoreOptions<M> & TraitsOption<M>,
): StoreFactory<M> {
  const { source, storeOptions } = parseDurableObjectOptions(options);
  const driver = "send" in source ? new RemoteDriver(source.send) : new DocumentDriver(documentsIn(source));
  return createStores(driver, storeOptions);
}

/**
 * Returns the function to which a method of a Durable Object passes the requests of stores that have it in `send`. Call it once, in
 * the constructor. It executes every request, so only this application's Workers and objects may reach the method: use a method of
 * RPC, not `fetch`, to which a Worker may pass a request from outside.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
 * @example
 * export class Chats extends DurableObject {
 *   readonly #serve = serveDurableObjectStores({ client: this.ctx.storage });
 *   scrollback(request: Request): Promise<Response> {
 *     return this.#serve(request);
 *   }
 * }
 */
export function serveDurableObjectStores(options: ServedOptions): Send {
  const documents = documentsIn(parseServedOptions(options));
  return serve(new DocumentDriver(documents, { isRemote: true }), documents.index);
}

const documentsIn = ({ client, tablePrefix }: Required<ServedOptions>) =>
  new SqliteDocuments(new DurableObjectClient(client), tablePrefix);
