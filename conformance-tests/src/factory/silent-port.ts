import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** The port of a server on 127.0.0.1 that accepts connections and never replies. `later` receives the function that stops it. */
export async function silentPort(later: (end: () => void) => void): Promise<number> {
  const server = createServer((socket) => socket.on("error", () => undefined).resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(() => void server.close());
  return (server.address() as AddressInfo).port;
}
