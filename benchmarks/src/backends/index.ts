import { type Backend, openOnServer } from "../backend.ts";
import type { BackendKey } from "../results.ts";
import { openCloudflare } from "./cloudflare.ts";
import { defineDynamo } from "./dynamo.ts";
import { openLibsql } from "./libsql.ts";
import { defineMongo } from "./mongo.ts";
import { definePostgres } from "./postgres.ts";
import { defineRedis } from "./redis.ts";
import { openSqlite } from "./sqlite.ts";

/** Opens each backend that is measured. */
export const backends: Readonly<Record<BackendKey, () => Promise<Backend>>> = {
  redis: () => openOnServer("redis", defineRedis),
  mongodb: () => openOnServer("mongodb", defineMongo),
  dynamodb: () => openOnServer("dynamodb", defineDynamo),
  postgres: () => openOnServer("postgres", definePostgres),
  "sqlite-full": async () => openSqlite("full"),
  "sqlite-normal": async () => openSqlite("normal"),
  libsql: openLibsql,
  "durable-object": () => openCloudflare("object"),
  d1: () => openCloudflare("d1"),
};
