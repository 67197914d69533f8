import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { checkOptions, invalid } from "./arguments.ts";
import { StoreError } from "./errors.ts";
import { type StoreFactory, type StoreOptions, storeOptionChecks } from "./factory.ts";
import { createMemoryStores } from "./memory.ts";
import type { ChatMessage } from "./message.ts";

interface Adapter {
  readonly packageName: string;
  readonly create: string;
  readonly install: string;
}

const redis: Adapter = {
  packageName: "@scrollback/store-redis",
  create: "createRedisStores",
  install: "@scrollback/store-redis ioredis",
};
const mongo: Adapter = {
  packageName: "@scrollback/store-mongo",
  create: "createMongoStores",
  install: "@scrollback/store-mongo mongodb",
};
const adapters: Readonly<Record<string, Adapter>> = {
  "redis:": redis,
  "rediss:": redis,
  "mongodb:": mongo,
  "mongodb+srv:": mongo,
  "dynamodb:": {
    packageName: "@scrollback/store-dynamo",
    create: "createDynamoStores",
    install: "@scrollback/store-dynamo @aws-sdk/client-dynamodb",
  },
  "sqlite:": {
    packageName: "@scrollback/store-sqlite",
    create: "createSqliteStores",
    install: "@scrollback/store-sqlite",
  },
};

/**
 * Opens stores by URL: `memory:`, `sqlite:chats.db`, `sqlite::memory:`, `redis://…`, `rediss://…`, `mongodb://…`,
 * `mongodb+srv://…`, `dynamodb://…`. The adapter's package is loaded on demand, first as seen from this package, then as
 * seen from the working directory. No connection is made before the first call of a store.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a URL of another scheme or a wrong option, `UNSUPPORTED` when the adapter is
 *   not installed, with the command that installs it.
 * @example
 * const stores = await openStores("sqlite:chats.db", { maxMessages: 200 });
 */
export async function openStores<M = ChatMessage>(
  url: string,
  options: StoreOptions<M> = {},
): Promise<StoreFactory<M>> {
  checkOptions("openStores", options, storeOptionChecks);
  const scheme = typeof url === "string" ? /^[a-z][a-z+]*:/.exec(url)?.[0] : undefined;
  if (scheme === "memory:") return createMemoryStores(options);
  const adapter = scheme === undefined ? undefined : adapters[scheme];
  if (!adapter) {
    return invalid(`openStores: url must begin with memory:, ${Object.keys(adapters).join(", ")}`);
  }
  const module = await load(adapter);
  return (module[adapter.create] as (options: object) => StoreFactory<M>)({ url, ...options });
}

async function load({ packageName, install }: Adapter): Promise<Record<string, unknown>> {
  try {
    return await import(packageName);
  } catch (error) {
    if (!isMissing(error, packageName)) throw error;
  }
  try {
    // Where packages are strictly apart (pnpm, for one) only the application sees its adapters.
    const fromHere = createRequire(join(process.cwd(), "package.json"));
    return await import(pathToFileURL(fromHere.resolve(packageName)).href);
  } catch (error) {
    if (!isMissing(error, packageName)) throw error;
    throw new StoreError(
      "UNSUPPORTED",
      `openStores: ${packageName} is not installed; run: npm install ${install}`,
      {
        cause: error,
      },
    );
  }
}

function isMissing(error: unknown, packageName: string): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  const missing = error.code === "ERR_MODULE_NOT_FOUND" || error.code === "MODULE_NOT_FOUND";
  return missing && error.message.includes(`'${packageName}'`);
}
