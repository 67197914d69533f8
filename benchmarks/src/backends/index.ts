import type { ServerName } from "../../../conformance-tests/servers/servers.ts";
import type { Backend, BackendKey, Connects, Location } from "../backend.ts";
import { defineDynamo } from "./dynamo.ts";
import { defineMongo } from "./mongo.ts";
import { type Definition, openOnServer } from "./network.ts";
import { definePostgres } from "./postgres.ts";
import { defineRedis } from "./redis.ts";
import { connectSqlite, openSqlite } from "./sqlite.ts";

/** How to open a backend, and how another process connects to an open one. */
interface Kind {
  open(): Promise<Backend>;
  connects(location: Location): Connects;
}

const onServer = (name: ServerName, define: (location: Location) => Definition): Kind => ({
  open: () => openOnServer(name, define),
  connects: (location) => define(location).connect,
});

const onFile = (synchronous: "full" | "normal"): Kind => ({
  open: () => openSqlite(synchronous),
  connects: () => connectSqlite(synchronous),
});

/** Every backend that is measured. */
export const backends: Readonly<Record<BackendKey, Kind>> = {
  redis: onServer("redis", defineRedis),
  mongodb: onServer("mongodb", defineMongo),
  dynamodb: onServer("dynamodb", defineDynamo),
  postgres: onServer("postgres", definePostgres),
  "sqlite-full": onFile("full"),
  "sqlite-normal": onFile("normal"),
};
