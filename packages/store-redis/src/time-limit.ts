import { StoreError } from "@scrollback/store-core";
import { type DeleteRequest, REPLY_TIMEOUT_MS } from "@scrollback/store-core/driver";
import type { Cluster, Redis } from "ioredis";
import type { RedisClient } from "./options.ts";

/** The message of ioredis for a command that exceeds its `commandTimeout`. */
export const TIMED_OUT = "Command timed out";

/**
 * The time in milliseconds after which a request is given up, whatever the client's options: 4 seconds, or the client's own
 * `commandTimeout` if it is longer.
 */
export function timeLimitOf(client: RedisClient): number {
  const { commandTimeout = 0 } = client.isCluster
    ? ((client as Cluster).options.redisOptions ?? {})
    : ((client as Redis).options ?? {});
  return Math.max(REPLY_TIMEOUT_MS, commandTimeout);
}

/** The fields of ioredis' commands that it reads when it sends one. */
interface SentCommand {
  name: string;
  args: unknown[];
}

/**
 * Runs a request that is given up as soon as it takes longer than `limit` or its signal is aborted. ioredis keeps the commands that it
 * could not send, and those whose connection was lost, and sends them when the server is back, however late. So what `run` has sent with
 * the client that it gets is replaced by a PING in these queues. What the server has already received may still take effect.
 */
export async function withinLimit<T>(
  client: RedisClient,
  limit: number,
  signal: AbortSignal | undefined,
  run: (client: RedisClient) => Promise<T>,
): Promise<T> {
  const sent: SentCommand[] = [];
  const { promise, reject } = Promise.withResolvers<never>();
  let error: Error | undefined;
  const giveUp = () => {
    error ??= new Error(TIMED_OUT);
    for (const command of sent) Object.assign(command, { name: "ping", args: [] });
    reject(error);
  };
  const sendCommand = (command: SentCommand, ...rest: never[]) => {
    if (error) throw error;
    sent.push(command);
    return Reflect.apply(client.sendCommand, client, [command, ...rest]);
  };
  const bound = Object.create(client, { sendCommand: { value: sendCommand } }) as RedisClient;
  const timer = setTimeout(giveUp, limit);
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([run(bound), promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

/**
 * The attempt may have waited for a connection. The server may have forgotten the first attempt when a later one arrives.
 *
 * @throws StoreError `UNAVAILABLE`, not retryable.
 */
export function assertInTime({ sendBefore }: Pick<DeleteRequest, "sendBefore">): void {
  if (sendBefore === undefined || performance.now() < sendBefore) return;
  throw new StoreError(
    "UNAVAILABLE",
    "redis: the outcome is unknown: the reply was lost, and it is too late to repeat the request; read the thread first",
  );
}
