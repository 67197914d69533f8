import { createRedisStores } from "@scrollback/store-redis";
import { declareServerTests } from "./backends.ts";

declareServerTests("Valkey", "valkey", (url, keyPrefix) => createRedisStores({ url, keyPrefix }));
