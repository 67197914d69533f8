import { connect } from "node:net";
import type { Redis } from "ioredis";
import { PLAIN_SERVER } from "../errors.ts";

/** The time after which a TLS handshake is checked, because the server may not use TLS. */
const PATIENCE_MS = 1_000;

/**
 * Fails the connections of a TLS client to a server without TLS. Such a server takes the handshake for the beginning of a
 * command and waits for the rest, while the client waits for a reply until its timeout. So a slow handshake is checked: a
 * command without TLS is sent to the server on a separate connection.
 */
export function refusePlainServer(client: Redis): void {
  client.on("connecting", () => {
    const late = async () => {
      const { stream, status, options } = client;
      if (status !== "connecting" || !(await answersPlainly(options.host, options.port))) return;
      stream.destroy(Object.assign(new Error("the server answers without TLS"), { code: PLAIN_SERVER }));
    };
    const timer = setTimeout(late, PATIENCE_MS).unref();
    client.once("close", () => clearTimeout(timer));
  });
}

/** Whether a server replies in the Redis protocol without TLS, also with an error. */
async function answersPlainly(host = "localhost", port = 6379): Promise<boolean> {
  const socket = connect({ host, port }).unref();
  try {
    return await new Promise<boolean>((resolve) => {
      socket.setTimeout(PATIENCE_MS, () => resolve(false));
      socket.once("error", () => resolve(false)).once("close", () => resolve(false));
      socket.once("data", (answer) => resolve(/^[+-]/.test(answer.toString("latin1"))));
      socket.write("PING\r\n");
    });
  } finally {
    socket.destroy();
  }
}
