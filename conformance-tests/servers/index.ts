/**
 * Starts the servers of the tests: Redis, MongoDB, DynamoDB, PostgreSQL, MariaDB and others, in Docker containers. Needs a Docker engine that
 * runs, or the URL of a server in an environment variable.
 *
 * @packageDocumentation
 */

export { type RedisCluster, startRedisCluster } from "./redis/cluster.ts";
export type { Address, RedisName, RedisProcess } from "./redis/processes.ts";
export { type RedisSentinel, startRedisSentinel } from "./redis/sentinel.ts";
export { type ServerName, servers } from "./servers.ts";
export { type SharedServer, sharedServer } from "./shared.ts";
export { type RunningServer, type StartOptions, startServer } from "./start.ts";
