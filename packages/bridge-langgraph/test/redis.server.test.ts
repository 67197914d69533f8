import { createRedisStores } from "@scrollback/store-redis";
import { declareServerTests } from "./backends.ts";

declareServerTests("Redis", "redis", (url, keyPrefix) => createRedisStores({ url, keyPrefix }));
