export { type RedisStreamsOptions, redisStreams } from "./redis-streams.ts";
