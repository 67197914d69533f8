import type { ServerDefinition } from "./definition.ts";
import { dynamodb } from "./dynamodb/server.ts";
import { mariadb } from "./mariadb/server.ts";
import { mongodb } from "./mongodb/server.ts";
import { pgbouncer } from "./pgbouncer/server.ts";
import { postgres } from "./postgres/server.ts";
import { postgres13 } from "./postgres-13/server.ts";
import { postgres15 } from "./postgres-15/server.ts";
import { redis } from "./redis/server.ts";
import { redis62 } from "./redis-6.2/server.ts";
import { redis7 } from "./redis-7/server.ts";
import { valkey } from "./valkey/server.ts";

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
