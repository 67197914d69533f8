import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import { checkFactoryOptions, checkOptions, hasMethods, invalid } from "@scrollback/store-core/driver";
import { isFunction, isTablePrefix } from "@scrollback/store-core/internal";
import type { D1 } from "./d1-client.ts";
import type { DurableObjectStorage } from "./durable-object-client.ts";
import type { Send } from "./protocol.ts";

/** Options of `createD1Stores`, and the options of every backend. `setup` is true by default. */
export interface D1StoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /** The binding of a D1 database: `env.DB`. */
  client: D1;
  /** The prefix of the table names: lower-case letters, digits and `_`, not starting with a digit. Default `scrollback_`. */
  tablePrefix?: string;
}

/** Options of `createDurableObjectStores`: either `client` or `send`, and the options of every backend. `setup` is true by default. */
export interface DurableObjectStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /** Inside a Durable Object whose class has SQLite: its `ctx.storage`. Only this object has the threads. */
  client?: DurableObjectStorage;
  /**
   * Outside: passes a request to a method of the object that returns what {@link serveDurableObjectStores} made of it. Must not give
   * callers of the Worker a way to the method. Called once for each verb, with a new stub each time, because a stub may break.
   */
  send?: Send;
  /** The prefix of the table names, as in {@link D1StoreOptions}. Only with `client`. Default `scrollback_`. */
  tablePrefix?: string;
}

/** Options of `serveDurableObjectStores`. */
export type ServedOptions = Required<Pick<DurableObjectStoreOptions, "client">> &
  Pick<DurableObjectStoreOptions, "tablePrefix">;

// D1 and Durable Objects have tables of their own.
const isPrefix = isTablePrefix("sqlite_", "_cf_", "d1_");
const isD1 = hasMethods("prepare", "batch", "withSession");
// A class without SQLite throws at `sql`.
const isStorage = hasMethods("transactionSync", "getAlarm");

const DEFAULT_PREFIX = "scrollback_";

/** @throws StoreError `INVALID_ARGUMENT` that names the option and what it must be. */
export function parseD1Options<M>(options: D1StoreOptions<M>): {
  client: D1;
  tablePrefix: string;
  storeOptions: StoreOptions<M>;
} {
  checkFactoryOptions("createD1Stores", options, { client: isD1, tablePrefix: isPrefix });
  const { client, tablePrefix = DEFAULT_PREFIX, setup = true, ...storeOptions } = options ?? {};
  if (!client) return invalid("createD1Stores: give client, the binding of a D1 database");
  return { client, tablePrefix, storeOptions: { setup, ...storeOptions } };
}

/** @throws StoreError `INVALID_ARGUMENT` that names the option and what it must be. */
export function parseDurableObjectOptions<M>(options: DurableObjectStoreOptions<M>): {
  source: { client: DurableObjectStorage; tablePrefix: string } | { send: Send };
  storeOptions: StoreOptions<M>;
} {
  const checks = { client: isStorage, send: isFunction, tablePrefix: isPrefix };
  checkFactoryOptions("createDurableObjectStores", options, checks);
  const { client, send, tablePrefix, setup = true, ...others } = options ?? {};
  const storeOptions = { setup, ...others };
  if (client && !send)
    return { source: { client, tablePrefix: tablePrefix ?? DEFAULT_PREFIX }, storeOptions };
  if (!send || client) return invalid("createDurableObjectStores: give either client or send");
  if (tablePrefix !== undefined)
    invalid(
      "createDurableObjectStores: tablePrefix goes with client only; give it to serveDurableObjectStores",
    );
  return { source: { send }, storeOptions };
}

/** @throws StoreError `INVALID_ARGUMENT` that names the option and what it must be. */
export function parseServedOptions(options: ServedOptions): {
  client: DurableObjectStorage;
  tablePrefix: string;
} {
  checkOptions("serveDurableObjectStores", options, { client: isStorage, tablePrefix: isPrefix }, ["client"]);
  const { client, tablePrefix = DEFAULT_PREFIX } = options;
  return { client, tablePrefix };
}
