import type { ServerDefinition } from "./definition.ts";
import { dynamodb } from "./dynamodb/server.ts";
import { mariadb } from "./mariadb/server.ts";
import { mongodb } from "./mongodb/server.ts";
import { pgbouncer } from "./pgbouncer/server.ts";
import { postgres, postgres13, postgres15 } from "./postgres/server.ts";
import { redis, redis7, redis62, valkey } from "./redis/server.ts";

/** Every server that the tests can start, by name. */
export const servers = {
  redis,
  "redis-7": redis7,
  "redis-6.2": redis62,
  valkey,
  mongodb,
  dynamodb,
  postgres,
  "postgres-13": postgres13,
  "postgres-15": postgres15,
  pgbouncer,
  mariadb,
} satisfies Record<string, ServerDefinition>;

export type ServerName = keyof typeof servers;
