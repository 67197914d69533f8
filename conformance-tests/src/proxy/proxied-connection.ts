import type { Socket } from "node:net";

interface Held {
  /** What to forward; `null` for the end of the stream. */
  readonly chunk: Buffer | null;
  /** When, by `performance.now()`; Infinity: when the mode changes. */
  due: number;
}

/** What a connection reports to its proxy. */
export interface ConnectionEvents {
  /** `null` for the end of the stream. */
  requestArrived(chunk: Buffer | null): void;
  replyArrived(chunk: Buffer | null): void;
  requestForwarded(bytes: number): void;
  replyForwarded(bytes: number): void;
  closed(): void;
}

/** A client's socket, the server's socket, and a pipe each way. */
export class ProxiedConnection {
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
export class Pipe {
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

  /** Removes what is held until the mode changes, in order. */
  take(): (Buffer | null)[] {
    const first = this.#held.findIndex(({ due }) => due === Number.POSITIVE_INFINITY);
    return first < 0 ? [] : this.#held.splice(first).map(({ chunk }) => chunk);
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
