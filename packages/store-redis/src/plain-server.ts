import { connect } from "node:net";
import type { Redis } from "ioredis";
import { PLAIN_SERVER } from "./errors.ts";

/** After how long a handshake of TLS is taken for one that the server may not understand. */
const PATIENCE_MS = 1_000;

/**
 * Fails the connections of a client for TLS to a server without TLS. Such a server waits for the rest of what it takes for a
 * command, and the client for an answer, until its timeout. So a handshake that takes long is looked into: the server is
 * sent a command without TLS, on a connection of its own.
 */
export function refusePlainServer(client: Redis): void {
  client.on("connecting", () => {
    const timer = setTimeout(async () => {
      const { stream, status, options } = client;
      if (status !== "connecting" || !(await answersPlainly(options.host, options.port))) return;
      stream.destroy(Object.assign(new Error("the server answers without TLS"), { code: PLAIN_SERVER }));
    }, PATIENCE_MS).unref();
    client.once("close", () => clearTimeout(timer));
  });
}

/** Whether a server answers in Redis' protocol without TLS, be it with an error. */
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
