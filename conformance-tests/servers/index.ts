/**
 * Starts the servers of the tests: Redis, MongoDB, DynamoDB, PostgreSQL and others, from local binaries or containers.
 *
 * @packageDocumentation
 */

export { type RedisCluster, startRedisCluster } from "./redis/cluster.ts";
export type { Address, RedisName, RedisProcess } from "./redis/processes.ts";
export { type RedisSentinel, startRedisSentinel } from "./redis/sentinel.ts";
export { type ServerName, servers } from "./servers.ts";
export { type RunningServer, type StartOptions, startServer } from "./start.ts";
