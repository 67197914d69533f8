import { Socket } from "node:net";
import { Pool, type PoolConfig } from "pg";

/** The factory's own pool. It can close its sockets: pg leaves an ended connection open until the server closes it, too. */
export class OwnPool extends Pool {
  readonly #sockets: Set<Socket>;

  constructor(config: PoolConfig) {
    const sockets = new Set<Socket>();
    const stream = () => {
      const socket = new Socket();
      // pg also makes sockets that it never connects, and ends by itself those that connect for too long.
      socket.once("connect", () => sockets.add(socket)).once("close", () => sockets.delete(socket));
      return socket;
    };
    super({ ...config, stream });
    this.#sockets = sockets;
  }

  /** Ends all connections, and waits until the server has closed them. */
  async disconnect(): Promise<void> {
    const closed = [...this.#sockets].map(
      (socket) => new Promise((resolve) => socket.once("close", resolve)),
    );
    await this.end();
    await Promise.all(closed);
  }

  /** Closes what is still open, because the server hangs. Such a socket would keep the process alive. */
  destroySockets(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
