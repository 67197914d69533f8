import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { neonConfig } from "@neondatabase/serverless";
import { type WebSocket, WebSocketServer } from "ws";

/** A proxy that passes the bytes of each WebSocket to a server, as the one of a serverless database does. */
async function startWebSocketProxy(target: {
  host: string;
  port: number;
}): Promise<AsyncDisposable & { readonly address: string; cut(): void }> {
  const sockets = new Set<WebSocket>();
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", (socket) => {
    sockets.add(socket);
    const tcp = connect(target);
    socket.on("message", (data: Buffer) => tcp.write(data));
    tcp.on("data", (data) => socket.send(data));
    socket.on("close", () => tcp.destroy());
    tcp.on("close", () => socket.close());
    for (const end of [socket, tcp]) end.on("error", () => undefined);
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets) socket.terminate();
    sockets.clear();
  };
  return {
    address: `127.0.0.1:${port}`,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Has `@neondatabase/serverless` connect through a proxy to a server that is no Neon, which begins TLS and the login without waiting. */
export async function startNeonProxy(url: string) {
  const { hostname: host, port } = new URL(url);
  const proxy = await startWebSocketProxy({ host, port: Number(port) });
  neonConfig.wsProxy = () => proxy.address;
  neonConfig.useSecureWebSocket = false;
  neonConfig.pipelineTLS = false;
  neonConfig.pipelineConnect = false;
  return proxy;
}
