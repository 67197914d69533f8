import { isErrorReply } from "./errors.ts";
import type { RedisClient } from "./options.ts";

/** A command of ioredis, as far as it is needed here. */
interface SentCommand {
  toWritable(stream: object): unknown;
  reject(error: Error): void;
}

const LOST = "Connection is closed.";

/**
 * Runs a call whose commands the client must not repeat, whatever its options: by default a client sends what was not replied to again when it has
 * connected again, and a cluster's client sends it on another connection. A command that was refused, such as one to a node that does not have the
 * slot, is sent again.
 *
 * @throws Error of a lost connection, if the client was about to repeat a command.
 */
export async function sendOnce<T>(
  client: RedisClient,
  call: (client: RedisClient) => Promise<T>,
): Promise<T> {
  let isRepeated = false;
  const guard = (command: SentCommand) => {
    let isSent = false;
    const { toWritable, reject } = command;
    command.toWritable = (stream) => {
      if (!isSent) {
        isSent = true;
        return toWritable.call(command, stream);
      }
      // Something must be sent, because the client waits for a reply.
      isRepeated = true;
      return "*1\r\n$4\r\nPING\r\n";
    };
    // A cluster's client replaces it by its own, which may send the command again.
    let current = reject;
    Object.defineProperty(command, "reject", {
      get: () => current,
      set(replaced: SentCommand["reject"]) {
        current = (error) => {
          if (isSent && error.message === LOST) return reject.call(command, error);
          if (isErrorReply(error)) isSent = false;
          replaced.call(command, error);
        };
      },
    });
  };
  const once: RedisClient = Object.create(client, {
    sendCommand: {
      value(command: SentCommand, ...where: unknown[]) {
        guard(command);
        return Reflect.apply(client.sendCommand, client, [command, ...where]);
      },
    },
  });
  const result = await call(once).catch((error) => {
    throw isRepeated ? new Error(LOST, { cause: error }) : error;
  });
  if (isRepeated) throw new Error(LOST);
  return result;
}
