import type { ServerName } from "../../../conformance-tests/servers/index.ts";
import type { Backend, BackendKey, Connects, Place } from "../backend.ts";
import { defineDynamo } from "./dynamo.ts";
import { defineMongo } from "./mongo.ts";
import { type Definition, openOnServer } from "./network.ts";
import { definePostgres } from "./postgres.ts";
import { defineRedis } from "./redis.ts";
import { connectSqlite, openSqlite } from "./sqlite.ts";

/** How a backend is opened, and how another process connects to one that is open. */
interface Kind {
  open(): Promise<Backend>;
  connects(place: Place): Connects;
}

const onServer = (name: ServerName, define: (place: Place) => Definition): Kind => ({
  open: () => openOnServer(name, define),
  connects: (place) => define(place).connect,
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
