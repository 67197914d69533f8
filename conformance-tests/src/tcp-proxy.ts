import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The behaviour of a proxy. Byte counts start when the mode is set, for each connection separately. */
export type ProxyMode =
  /** Everything is forwarded. */
  | { readonly kind: "pass" }
  /** Open connections are cut at once, new ones when they are made: an unreachable server. */
  | { readonly kind: "down" }
  /** `afterBytes` bytes of the request (default 0) are forwarded, then the connection is cut. */
  | { readonly kind: "cut-request"; readonly afterBytes?: number; readonly times?: number }
  /**
   * Requests are forwarded; after `afterBytes` bytes of the reply (default 0) the connection is cut. So many parts of
   * replies pass before (`skip`, default 0), on any connections.
   */
  | {
      readonly kind: "cut-reply";
      readonly afterBytes?: number;
      readonly times?: number;
      readonly skip?: number;
    }
  /** Requests are forwarded. The reply and everything after it on that connection is lost; the connection stays open. */
  | { readonly kind: "drop-reply"; readonly times?: number }
  /** Nothing is forwarded in either direction until the mode changes; then everything held back is forwarded. */
  | { readonly kind: "hang" }
  /** Replies come `ms` milliseconds later, in order. */
  | { readonly kind: "delay-reply"; readonly ms: number };

/** See {@link TcpProxy.counters}. */
export interface ProxyCounters {
  readonly connections: number;
  readonly requestBytes: number;
  readonly replyBytes: number;
  readonly strikes: number;
}

interface Held {
  /** What to forward; `null` for the end of the stream. */
  readonly chunk: Buffer | null;
  /** When, by `performance.now()`; Infinity: when the mode changes. */
  due: number;
}

/**
 * A TCP proxy on 127.0.0.1 that can break connections in every way that a network does. One proxy can serve several
 * servers (a cluster), which share its mode.
 *
 * A fault with `times` occurs that many times; then the mode is `pass` again. Without `times` it lasts until {@link
 * TcpProxy.set}. The proxy is meant for the traffic of tests: it buffers in memory what a slow receiver has not read yet.
 *
 * @example
 * const proxy = new TcpProxy();
 * const port = await proxy.forward({ host: "127.0.0.1", port: 6379 });
 * proxy.set({ kind: "cut-reply", times: 1 }); // the next request is carried out, its reply is lost
 * await proxy.close();
 */
export class TcpProxy {
  readonly #servers: Server[] = [];
  readonly #connections = new Set<Connection>();
  readonly #counters = { connections: 0, requestBytes: 0, replyBytes: 0, strikes: 0 };
  #mode: ProxyMode = { kind: "pass" };
  #strikesLeft = Number.POSITIVE_INFINITY;
  #skipsLeft = 0;

  /** The number of connections, of bytes forwarded in each direction, and of faults that occurred. */
  get counters(): ProxyCounters {
    return { ...this.#counters };
  }

  get mode(): ProxyMode {
    return this.#mode;
  }

  /** Starts listening for a target. @returns the port on 127.0.0.1. */
  async forward(target: { readonly host: string; readonly port: number }): Promise<number> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      this.#counters.connections += 1;
      const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true });
      const connection: Connection = new Connection(client, upstream, {
        requestArrived: (chunk) => this.#onRequest(connection, chunk),
        replyArrived: (chunk) => this.#onReply(connection, chunk),
        requestForwarded: (bytes) => {
          this.#counters.requestBytes += bytes;
        },
        replyForwarded: (bytes) => {
          this.#counters.replyBytes += bytes;
        },
        closed: () => this.#connections.delete(connection),
      });
      this.#connections.add(connection);
      if (this.#mode.kind === "down") this.#cut(connection);
    });
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    return (server.address() as AddressInfo).port;
  }

  /** {@link forward} for the server of a URL. @returns the URL through the proxy. */
  async forwardUrl(url: string, defaultPort: number): Promise<string> {
    const { hostname, port } = new URL(url);
    const forwarded = new URL(url);
    forwarded.host = `127.0.0.1:${await this.forward({ host: hostname, port: Number(port || defaultPort) })}`;
    return forwarded.href;
  }

  /** Changes the mode, for open connections too. What a `hang` held back is forwarded now. */
  set(mode: ProxyMode): void {
    this.#mode = mode;
    this.#strikesLeft = ("times" in mode ? mode.times : undefined) ?? Number.POSITIVE_INFINITY;
    this.#skipsLeft = ("skip" in mode ? mode.skip : undefined) ?? 0;
    for (const connection of this.#connections) {
      if (mode.kind === "down") this.#cut(connection);
      else connection.restart(mode.kind === "hang");
    }
  }

  /** Cuts all open connections once. New connections follow the mode. */
  cutConnections(): void {
    for (const connection of this.#connections) this.#cut(connection);
  }

  /** Stops listening and cuts all connections; leaves no socket and no timer. Further calls have no effect. */
  async close(): Promise<void> {
    const servers = this.#servers.splice(0);
    const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
    for (const connection of this.#connections) connection.cut();
    await Promise.all(closed);
  }

  #cut(connection: Connection): void {
    this.#counters.strikes += 1;
    connection.cut();
  }

  #strike(): void {
    this.#counters.strikes += 1;
    this.#strikesLeft -= 1;
    if (this.#strikesLeft <= 0) this.set({ kind: "pass" });
  }

  #onRequest(connection: Connection, chunk: Buffer | null): void {
    const mode = this.#mode;
    const pipe = connection.requests;
    if (mode.kind === "hang") {
      this.#strike();
      pipe.hold(chunk, Number.POSITIVE_INFINITY);
    } else if (mode.kind === "cut-request") {
      this.#forwardOrCut(connection, pipe, chunk, mode.afterBytes);
    } else {
      pipe.hold(chunk, 0);
    }
  }

  #onReply(connection: Connection, chunk: Buffer | null): void {
    const mode = this.#mode;
    const pipe = connection.replies;
    if (mode.kind === "hang") {
      this.#strike();
      pipe.hold(chunk, Number.POSITIVE_INFINITY);
    } else if (mode.kind === "delay-reply") {
      this.#strike();
      pipe.hold(chunk, performance.now() + mode.ms);
    } else if (mode.kind === "cut-reply" && this.#skipsLeft > 0) {
      this.#skipsLeft -= 1;
      pipe.hold(chunk, 0);
    } else if (mode.kind === "cut-reply") {
      this.#forwardOrCut(connection, pipe, chunk, mode.afterBytes);
    } else if (mode.kind === "drop-reply") {
      this.#strike();
      pipe.stop();
    } else {
      pipe.hold(chunk, 0);
    }
  }

  #forwardOrCut(connection: Connection, pipe: Pipe, chunk: Buffer | null, afterBytes = 0): void {
    const rest = afterBytes - pipe.bytes;
    if (chunk === null || chunk.length < rest) {
      pipe.hold(chunk, 0);
    } else {
      this.#strike();
      connection.cutAfter(pipe, chunk.subarray(0, rest));
    }
  }
}

interface ConnectionEvents {
  /** `null` for the end of the stream. */
  requestArrived(chunk: Buffer | null): void;
  replyArrived(chunk: Buffer | null): void;
  requestForwarded(bytes: number): void;
  replyForwarded(bytes: number): void;
  closed(): void;
}

/** A client's socket, the server's socket, and a pipe each way. */
class Connection {
  readonly requests: Pipe;
  readonly replies: Pipe;
  readonly #sockets: readonly [Socket, Socket];

  constructor(client: Socket, upstream: Socket, events: ConnectionEvents) {
    this.#sockets = [client, upstream];
    this.requests = new Pipe(client, upstream, events.requestArrived, events.requestForwarded);
    this.replies = new Pipe(upstream, client, events.replyArrived, events.replyForwarded);
    client.on("error", () => this.cut());
    upstream.on("error", () => this.cut());
    // If replies are lost, so is their end, but no caller waits for it any more.
    upstream.on("end", () => {
      if (client.readableEnded && this.replies.isStopped) this.cut();
    });
    for (const socket of this.#sockets) {
      socket.on("close", () => {
        if (client.closed && upstream.closed) events.closed();
      });
    }
  }

  cut(): void {
    this.requests.stop();
    this.replies.stop();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Cuts once the receiver of `pipe` has got `lastBytes`; its sender is cut at once. */
  cutAfter(pipe: Pipe, lastBytes: Buffer): void {
    this.requests.stop();
    this.replies.stop();
    pipe.source.destroy();
    pipe.target.end(lastBytes, () => pipe.target.destroy());
  }

  restart(hang: boolean): void {
    this.requests.restart(hang);
    this.replies.restart(hang);
  }
}

/** One direction of a connection: what arrives at `source` goes to `target`, at its time and in order. */
class Pipe {
  readonly source: Socket;
  readonly target: Socket;
  /** Bytes that were let through since the mode was set. */
  bytes = 0;
  readonly #forwarded: (bytes: number) => void;
  readonly #held: Held[] = [];
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    source: Socket,
    target: Socket,
    arrived: (chunk: Buffer | null) => void,
    forwarded: (bytes: number) => void,
  ) {
    this.source = source;
    this.target = target;
    this.#forwarded = forwarded;
    source.on("data", (chunk: Buffer) => !this.#stopped && arrived(chunk));
    source.on("end", () => !this.#stopped && arrived(null));
    target.on("close", () => this.stop());
  }

  hold(chunk: Buffer | null, due: number): void {
    this.bytes += chunk?.length ?? 0;
    this.#held.push({ chunk, due });
    this.#forwardDue();
  }

  restart(hang: boolean): void {
    this.bytes = 0;
    if (hang) return;
    for (const held of this.#held) if (held.due === Number.POSITIVE_INFINITY) held.due = 0;
    this.#forwardDue();
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Loses what is held and all that still arrives. */
  stop(): void {
    this.#stopped = true;
    this.#held.length = 0;
    clearTimeout(this.#timer);
  }

  #forwardDue(): void {
    clearTimeout(this.#timer);
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      const wait = next.due - performance.now();
      if (wait === Number.POSITIVE_INFINITY) return;
      if (wait > 0) {
        this.#timer = setTimeout(() => this.#forwardDue(), wait);
        return;
      }
      this.#held.shift();
      if (next.chunk === null) {
        this.target.end();
      } else {
        this.#forwarded(next.chunk.length);
        this.target.write(next.chunk);
      }
    }
  }
}
