/**
 * Streams of running answers over Redis, so that any server process can resume and stop an answer.
 *
 * @packageDocumentation
 */

export { redisStreams } from "./streams/redis-streams.ts";
