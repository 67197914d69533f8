import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy on 127.0.0.1 that counts the round trips of its traffic. */
export interface RoundTripCounter {
  readonly port: number;
  /** The number of round trips so far, on all connections. */
  count(): number;
  close(): Promise<void>;
}

/**
 * Starts to count. A round trip begins with request bytes that are the first on their connection or that follow bytes of a reply.
 * All later request bytes before the next reply (a pipeline, the rest of a large request) belong to the same round trip. So it
 * counts how often a client waited for the network, not how many commands it sent.
 */
export async function countRoundTrips(target: { host: string; port: number }): Promise<RoundTripCounter> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ ...target, noDelay: true });
    let waiting = false;
    client.on("data", () => {
      if (!waiting) count += 1;
      waiting = true;
    });
    upstream.on("data", () => {
      waiting = false;
    });
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        other.destroy();
        sockets.delete(socket);
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    count: () => count,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
