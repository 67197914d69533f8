import { connect as connectSocket, type Socket } from "node:net";
import { StoreError } from "@scrollback/store-core";
import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type EntryIndex,
  type ErrorClassification,
  errorTable,
  type ListRequest,
  MAX_VALUE_BYTES,
  REMEMBERED_MS,
  type ReadRequest,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { onLine } from "./lines.ts";
import type { Reply, Request } from "./server.ts";

const capabilities: DriverCapabilities = Object.freeze({
  backend: "loopback",
  maxMessageBytes: 16 * 1024 ** 2,
  maxCommitBytes: 64 * 1024 ** 2,
  maxCommitMessages: Number.MAX_SAFE_INTEGER,
  sharing: "network",
  expiry: true,
  trimmedWithinCommits: 0,
  deletedWithinMs: REMEMBERED_MS,
  index: Object.freeze({
    maxValueBytes: MAX_VALUE_BYTES,
    vectors: Object.freeze({ maxDimensions: 1_000 }),
  }),
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
});

class ConnectionLost extends Error {}

interface Waiting {
  readonly timer: NodeJS.Timeout | undefined;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** A driver for {@link serve}: one connection, made by the first request and again after it was lost. */
export class LoopbackDriver implements Driver {
  readonly capabilities = capabilities;
  readonly index: EntryIndex = {
    insertEntry: (request) => this.#askIndex("insertEntry", request),
    updateEntry: (request) => this.#askIndex("updateEntry", request),
    removeEntry: (request) => this.#askIndex("removeEntry", request),
    entriesOf: (request) => this.#askIndex("entriesOf", request),
    listEntries: (request) => this.#askIndex("listEntries", request),
    nearestEntries: (request) => this.#askIndex("nearestEntries", request),
    listIndexes: (request) => this.#askIndex("listIndexes", request),
  };
  /** The time limit of a reply. */
  replyTimeoutMs = 4_000;
  readonly #port: number;
  readonly #waiting = new Map<number, Waiting>();
  #socket: Socket | undefined;
  #closed = false;
  #requests = 0;

  constructor(port: number) {
    this.#port = port;
  }

  get requestCount(): number {
    return this.#requests;
  }

  async commit({ signal, ...request }: CommitRequest): Promise<CommitOutcome> {
    return (await this.#ask("commit", request)) as CommitOutcome;
  }

  async read({ signal, ...request }: ReadRequest): Promise<ThreadView> {
    // JSON has no Infinity.
    const limit = Number.isFinite(request.limit) ? request.limit : Number.MAX_SAFE_INTEGER;
    return (await this.#ask("read", { ...request, limit })) as ThreadView;
  }

  async delete({ signal, ...request }: DeleteRequest): Promise<DeleteOutcome> {
    return (await this.#ask("delete", request)) as DeleteOutcome;
  }

  async list({ signal, ...request }: ListRequest): Promise<ThreadListing> {
    return (await this.#ask("list", request)) as ThreadListing;
  }

  async setup(): Promise<void> {
    await this.#ask("setup", {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#socket?.destroy();
    this.#lose(new ConnectionLost("the client was closed"));
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    if (!(error instanceof ConnectionLost)) return undefined;
    return errorTable("loopback").lost(error, `127.0.0.1:${this.#port}`);
  }

  async #askIndex<T>(verb: keyof EntryIndex, { signal, ...request }: { signal?: unknown }): Promise<T> {
    return (await this.#ask(verb, request)) as T;
  }

  async #ask(verb: Request["verb"], argument: unknown): Promise<unknown> {
    if (this.#closed) throw new ConnectionLost("the client was closed");
    this.#requests += 1;
    const id = this.#requests;
    const request: Request = { id, verb, argument };
    const socket = this.#connected();
    return await new Promise((resolve, reject) => {
      socket.write(`${JSON.stringify(request)}\n`);
      // A silent connection may never report its end: the next request gets a new one.
      const timer = Number.isFinite(this.replyTimeoutMs)
        ? setTimeout(() => socket.destroy(new ConnectionLost("timeout")), this.replyTimeoutMs)
        : undefined;
      this.#waiting.set(id, { resolve, reject, timer });
    });
  }

  #connected(): Socket {
    if (this.#socket) return this.#socket;
    const socket = connectSocket({ host: "127.0.0.1", port: this.#port, noDelay: true });
    this.#socket = socket;
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#socket === socket) this.#lose(new ConnectionLost("the connection was lost"));
    });
    onLine(socket, (line) => {
      const reply: Reply = JSON.parse(line);
      const waiting = this.#waiting.get(reply.id);
      clearTimeout(waiting?.timer);
      this.#waiting.delete(reply.id);
      if ("result" in reply) waiting?.resolve(reply.result);
      else if (reply.code) waiting?.reject(new StoreError(reply.code, reply.failure));
      else waiting?.reject(new Error(reply.failure));
    });
    return socket;
  }

  #lose(error: Error): void {
    this.#socket = undefined;
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject, timer } of lost) {
      clearTimeout(timer);
      reject(error);
    }
  }
}

/** The function that a child process imports. */
export function connect(port: unknown): LoopbackDriver {
  return new LoopbackDriver(Number(port));
}
