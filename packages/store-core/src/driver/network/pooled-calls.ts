import type { EventEmitter } from "node:events";
import { REQUEST_TIMEOUT_MS } from "../driver.ts";
import { inTime, NO_REPLY, PendingCalls } from "./pending-calls.ts";

const NO_CONNECTION = "the pool had no connection in time";

/** A client's pool of connections, for {@link PooledCalls}. */
export interface ConnectionPool<Connection extends EventEmitter> {
  /**
   * Waits for a connection, and opens one if necessary. A connection is the same object each time, and emits `end` when the pool has
   * closed it.
   */
  acquire(): Promise<Connection>;
  /**
   * Returns a connection to the pool. A connection that is not reusable leaves the pool and is closed; in the factory's own pool,
   * `destroy` has closed it before.
   */
  release(connection: Connection, reusable: boolean): void;
  /** Whether an error of a request is the server's answer, after which the connection is reusable. */
  isReply(error: unknown): boolean;
  /** How to close the factory's own pool. Absent for a pool that was handed in, which stays open. */
  own?: {
    /** Waits for the replies to all requests, and for the server to close the connections. */
    end(): Promise<unknown>;
    /** Closes the socket of one connection at once, without waiting for the server. */
    destroy(connection: Connection): void;
  };
}

/** Connections with an error listener: one for all factories on a pool, because Node.js warns of many listeners. */
const listenedTo = new WeakSet<EventEmitter>();

/**
 * The requests of a driver on the connections of a pool, one request at a time on each.
 *
 * - A request settles within 8 seconds: it fails with a `TimeoutError` 4 seconds after it was sent if the reply is not complete, and
 *   also if the pool gives no connection in time. It fails with `CLOSED` as soon as the driver closes. It may take effect nevertheless.
 * - It is sent once. After a lost connection the store repeats it, if it may.
 * - A connection is reused only after a reply. Without one, a late reply could be taken for that of the next request.
 * - The loss of an idle connection does not end the process. The next request finds it.
 */
export class PooledCalls<Connection extends EventEmitter> {
  readonly #pool: ConnectionPool<Connection>;
  readonly #calls = new PendingCalls();
  /** The connections of the factory's own pool. */
  readonly #open = new Set<Connection>();

  constructor(pool: ConnectionPool<Connection>) {
    this.#pool = pool;
  }

  /** Sends one request. Throws what it throws, a `TimeoutError`, or a `StoreError` `CLOSED`. */
  run<T>(request: (connection: Connection) => Promise<T>): Promise<T> {
    const limit = 2 * REQUEST_TIMEOUT_MS;
    const deadline = performance.now() + limit;
    return this.#calls.run(() => this.#attempt(request, deadline), limit, NO_CONNECTION);
  }

  /**
   * Rejects all waiting requests. Then ends the factory's own pool, and after at most 500 ms closes the sockets that are still
   * open, because the server hangs: they would keep the process alive.
   */
  async close(): Promise<void> {
    await this.#calls.close(() => this.#pool.own?.end());
    for (const connection of this.#open) this.#destroy(connection);
  }

  async #attempt<T>(request: (connection: Connection) => Promise<T>, deadline: number): Promise<T> {
    const connection = await this.#pool.acquire();
    this.#listenTo(connection);
    if (this.#calls.signal.aborted || performance.now() >= deadline) {
      this.#release(connection, !this.#calls.signal.aborted || !this.#pool.own);
      throw new Error("the request ended while it waited for a connection");
    }
    let reusable = false;
    try {
      const reply = await inTime(request(connection), REQUEST_TIMEOUT_MS, NO_REPLY, { ref: false });
      reusable = true;
      return reply;
    } catch (error) {
      reusable = this.#pool.isReply(error);
      throw error;
    } finally {
      this.#release(connection, reusable);
    }
  }

  #release(connection: Connection, reusable: boolean): void {
    if (!reusable) this.#destroy(connection);
    this.#pool.release(connection, reusable);
  }

  /** Closes a connection of the factory's own pool, once. */
  #destroy(connection: Connection): void {
    if (this.#open.delete(connection)) this.#pool.own?.destroy(connection);
  }

  #listenTo(connection: Connection): void {
    if (this.#pool.own && !this.#open.has(connection)) {
      this.#open.add(connection);
      connection.once("end", () => this.#open.delete(connection));
    }
    ignoreErrors(connection);
  }
}

/** Prevents that an `error` event of an idle client, which the next request finds, ends the process. */
export function ignoreErrors(emitter: EventEmitter): void {
  if (listenedTo.has(emitter)) return;
  listenedTo.add(emitter);
  emitter.on("error", () => undefined);
}
