// Bundled by bundlers.deep.test.ts: all adapters in one file. Takes the URL of the stores.
import { openStores } from "@scrollback/store-core";
import { createDynamoStores } from "@scrollback/store-dynamo";
import { createMongoStores } from "@scrollback/store-mongo";
import { createPostgresStores } from "@scrollback/store-postgres";
import { createRedisStores } from "@scrollback/store-redis";
import { createSqliteStores } from "@scrollback/store-sqlite";

await using stores = await openStores(process.argv[2] ?? "", {
  adapters: {
    dynamodb: createDynamoStores,
    mongodb: createMongoStores,
    postgres: createPostgresStores,
    redis: createRedisStores,
    sqlite: createSqliteStores,
  },
});
await stores.setup();
const store = stores.open();
await store.addMessages([{ role: "user", content: `Hello from ${stores.settings.backend}` }]);
console.log((await store.listMessages()).map(({ content }) => content).join());
