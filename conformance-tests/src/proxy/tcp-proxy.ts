import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { type Pipe, ProxiedConnection } from "./proxied-connection.ts";

/** The behaviour of a proxy. Byte counts start when the mode is set, for each connection separately. */
export type ProxyMode =
  /** Everything is forwarded. */
  | { readonly kind: "pass" }
  /** Open connections are cut at once, new ones when they are made: an unreachable server. */
  | { readonly kind: "down" }
  /** `afterBytes` bytes of the request (default 0) are forwarded, then the connection is cut. */
  | { readonly kind: "cut-request"; readonly afterBytes?: number; readonly times?: number }
  /**
   * Requests are forwarded; after `afterBytes` bytes of the reply (default 0) the connection is cut. The first `skip` parts of
   * replies (default 0), on any connections, pass. A part is what arrives at once: a reply may have several, and a protocol may
   * send parts that belong to no reply.
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
  /**
   * Requests are forwarded. Replies are held back until the next mode is set, to which they arrive then. To let through what
   * is held and hold what follows, set `pass` and this mode again.
   */
  | { readonly kind: "hold-reply" }
  /** Replies come `ms` milliseconds later, in order. */
  | { readonly kind: "delay-reply"; readonly ms: number };

/** See {@link TcpProxy.counters}. */
export interface ProxyCounters {
  readonly connections: number;
  /** Those on which the client has sent something. */
  readonly usedConnections: number;
  readonly requestBytes: number;
  readonly replyBytes: number;
  readonly strikes: number;
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
  readonly #connections = new Set<ProxiedConnection>();
  readonly #counters = { connections: 0, usedConnections: 0, requestBytes: 0, replyBytes: 0, strikes: 0 };
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
      let isUsed = false;
      const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true });
      const connection: ProxiedConnection = new ProxiedConnection(client, upstream, {
        requestArrived: (chunk) => {
          if (chunk && !isUsed) this.#counters.usedConnections += 1;
          isUsed ||= chunk !== null;
          this.#onRequest(connection, chunk);
        },
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
    const holdsReplies = this.#mode.kind === "hold-reply";
    this.#mode = mode;
    this.#strikesLeft = ("times" in mode ? mode.times : undefined) ?? Number.POSITIVE_INFINITY;
    this.#skipsLeft = ("skip" in mode ? mode.skip : undefined) ?? 0;
    for (const connection of this.#connections) {
      if (mode.kind === "down") {
        this.#cut(connection);
        continue;
      }
      const replies = holdsReplies ? connection.replies.take() : [];
      connection.restart(mode.kind === "hang");
      for (const chunk of replies) if (!connection.replies.isStopped) this.#onReply(connection, chunk);
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

  #cut(connection: ProxiedConnection): void {
    this.#counters.strikes += 1;
    connection.cut();
  }

  #strike(): void {
    this.#counters.strikes += 1;
    this.#strikesLeft -= 1;
    if (this.#strikesLeft <= 0) this.set({ kind: "pass" });
  }

  #onRequest(connection: ProxiedConnection, chunk: Buffer | null): void {
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

  #onReply(connection: ProxiedConnection, chunk: Buffer | null): void {
    const mode = this.#mode;
    const pipe = connection.replies;
    if (mode.kind === "hang" || mode.kind === "hold-reply") {
      this.#strike();
      pipe.hold(chunk, Number.POSITIVE_INFINITY);
    } else if (mode.kind === "delay-reply") {
      this.#strike();
      pipe.hold(chunk, performance.now() + mode.ms);
    } else if (chunk === null) {
      // A server closes a connection some time after its client did: that is not a reply, and does not use up a fault.
      pipe.hold(chunk, 0);
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

  #forwardOrCut(connection: ProxiedConnection, pipe: Pipe, chunk: Buffer | null, afterBytes = 0): void {
    const rest = afterBytes - pipe.bytes;
    if (chunk === null || chunk.length < rest) {
      pipe.hold(chunk, 0);
    } else {
      this.#strike();
      connection.cutAfter(pipe, chunk.subarray(0, rest));
    }
  }
}
