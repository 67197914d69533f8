import { createMemoryStores } from "@scrollback/store-core";
import { createPostgresStores } from "@scrollback/store-postgres";
import { Redis } from "ioredis";
import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { newNamespace, serverUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { redisStreams } from "../src/redis.ts";
import { declareDelayTest, declareStreamTests } from "./stream-delays.ts";

onEachBackend(declareStreamTests);

const schema = newNamespace();
declareDelayTest("PostgreSQL with listen", async () =>
  createPostgresStores({ url: await serverUrl("PostgreSQL"), schema, listen: true }),
);

const stores = createMemoryStores();
const keyPrefix = newNamespace();
declareDelayTest(
  "redisStreams",
  async () => stores,
  async () => redisStreams({ redis: new Redis(await serverUrl("Redis")), keyPrefix }),
);
