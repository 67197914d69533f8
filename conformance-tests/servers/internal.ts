/**
 * Servers that only the tests of Scrollback's own packages start. It may change in any release.
 *
 * @packageDocumentation
 */
export { type RedisCluster, startRedisCluster } from "./redis-groups/cluster.ts";
export type { Address, RedisName } from "./redis-groups/processes.ts";
export { type RedisSentinel, startRedisSentinel } from "./redis-groups/sentinel.ts";
export type { ServerName } from "./servers.ts";
