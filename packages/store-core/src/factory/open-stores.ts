import { type AdapterPackage, loadAdapter } from "#runtime";
import { type Check, checkOptions, invalid, isObject } from "../arguments.ts";
import { MemoryDriver } from "../memory/memory-driver.ts";
import type { ChatMessage } from "../message/message.ts";
import { createStores, refuseUrlParameters, storeOptionChecks } from "./factory.ts";
import type { StoreFactory, StoreOptions, TraitsOption } from "./store-factory.ts";

/**
 * Creates stores in this process's memory. Threads exist as long as the factory. A serialised state contains its thread's
 * messages, so it can be restored completely in another factory or process. If the other factory already has the thread,
 * that thread is kept.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
 * @example
 * const stores = createMemoryStores({ maxMessages: 100 });
 * const store = stores.open("chat-1");
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function createMemoryStores<M extends ChatMessage = ChatMessage>(): StoreFactory<M>;
export function createMemoryStores<M = ChatMessage>(
  options: StoreOptions<M> & TraitsOption<M>,
): StoreFactory<M>;
export function createMemoryStores(options: StoreOptions = {}): StoreFactory {
  checkOptions("createMemoryStores", options, storeOptionChecks);
  return createStores(new MemoryDriver(), options);
}

/** Makes the stores of a URL: the `create…Stores` of an adapter's package. */
export type Adapter<M = ChatMessage> = (
  options: StoreOptions<M> & TraitsOption<M> & { readonly url: string },
) => StoreFactory<M>;

/** The options of {@link openStores}. */
export interface OpenOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * Adapters by URL scheme, without the colon. They take precedence over adapters that are loaded on demand. Use them for
   * third-party adapters. An adapter for one of `postgres` and `postgresql`, `redis` and `rediss`, or `mongodb` and `mongodb+srv`
   * also opens the other. Default: none.
   */
  adapters?: Readonly<Record<string, Adapter<NoInfer<M>>>>;
}

const redis: AdapterPackage = {
  packageName: "@scrollback/store-redis",
  create: "createRedisStores",
  install: "@scrollback/store-redis ioredis",
};
const mongo: AdapterPackage = {
  packageName: "@scrollback/store-mongo",
  create: "createMongoStores",
  install: "@scrollback/store-mongo mongodb",
};
const postgres: AdapterPackage = {
  packageName: "@scrollback/store-postgres",
  create: "createPostgresStores",
  install: "@scrollback/store-postgres pg",
};
const packages: Readonly<Record<string, AdapterPackage>> = {
  redis: redis,
  rediss: redis,
  mongodb: mongo,
  "mongodb+srv": mongo,
  dynamodb: {
    packageName: "@scrollback/store-dynamo",
    create: "createDynamoStores",
    install: "@scrollback/store-dynamo @aws-sdk/client-dynamodb",
  },
  libsql: {
    packageName: "@scrollback/store-libsql",
    create: "createLibsqlStores",
    install: "@scrollback/store-libsql @libsql/client",
  },
  postgres: postgres,
  postgresql: postgres,
  sqlite: {
    packageName: "@scrollback/store-sqlite",
    create: "createSqliteStores",
    install: "@scrollback/store-sqlite",
  },
};

const isAdapters: Check = (value) =>
  isObject(value) ??
  (Object.entries(value as object).every(
    ([scheme, adapter]) => /^[a-z][a-z0-9+.-]*$/.test(scheme) && typeof adapter === "function",
  )
    ? undefined
    : "must have functions such as createSqliteStores, by schemes without a colon");

/**
 * Opens stores by URL: `memory:`, `sqlite:chats.db`, `sqlite::memory:`, `redis://…`, `rediss://…`, `mongodb://…`,
 * `mongodb+srv://…`, `dynamodb://…`, `libsql:chats.db`, `libsql://…`, `postgres://…`, `postgresql://…`, or another scheme that is among
 * `adapters`. The adapter's package is loaded on demand. It is resolved from this package first, then from the working directory. The
 * first call of a store connects, and creates missing tables (see `setup`), except on DynamoDB. A bundle contains the adapters that are
 * installed beside this package.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a URL of another scheme or a wrong option, `UNSUPPORTED` when the adapter's
 *   package is not found, with the command that installs it.
 * @example
 * const stores = await openStores("sqlite:chats.db", { maxMessages: 200 });
 * @example
 * const stores = await openStores(process.env.STORE_URL, { adapters: { etcd: createEtcdStores } });
 */
export async function openStores<M extends ChatMessage = ChatMessage>(url: string): Promise<StoreFactory<M>>;
export async function openStores<M = ChatMessage>(
  url: string,
  options: OpenOptions<M> & TraitsOption<M>,
): Promise<StoreFactory<M>>;
export async function openStores(url: string, options: OpenOptions = {}): Promise<StoreFactory> {
  checkOptions("openStores", options, { ...storeOptionChecks, adapters: isAdapters });
  const scheme = (typeof url === "string" && /^([a-z][a-z0-9+.-]*):/.exec(url)?.[1]) || "";
  // A table of DynamoDB costs money.
  const { adapters = {}, setup = scheme !== "dynamodb", ...others } = options;
  const storeOptions = { ...others, setup };
  const adapter = Object.hasOwn(packages, scheme) ? packages[scheme] : undefined;
  const isSame = (other: string) => adapter !== undefined && packages[other] === adapter;
  const name = Object.hasOwn(adapters, scheme) ? scheme : Object.keys(adapters).find(isSame);
  if (name !== undefined) return adapters[name]?.({ url, ...storeOptions }) as StoreFactory;
  if (scheme === "memory") {
    refuseUrlParameters("openStores", url, Object.keys(storeOptionChecks));
    return createMemoryStores(storeOptions);
  }
  if (!adapter) {
    const known = ["memory", ...Object.keys(packages), ...Object.keys(adapters)];
    return invalid(
      `openStores: url must begin with ${known.map((one) => `${one}:`).join(", ")}; the url of a file is sqlite: and its path`,
    );
  }
  const module = await loadAdapter(adapter);
  return (module[adapter.create] as Adapter)({ url, ...storeOptions });
}
