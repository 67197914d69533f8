import {
  type ListedThread,
  type ListRequest,
  StoreError,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core";
import { formatCursor, parseCursor, type ScanCursor } from "./cursor.ts";
import { messagesPattern, threadIdOf } from "./keys.ts";
import type { RedisClient } from "./options.ts";
import { markOf, type Server, serversOf, topologyOf } from "./topology.ts";

/** The maximum number of `SCAN` steps per page, including steps that find nothing. */
const STEPS_PER_PAGE = 10;
/** A step scans about as many keys as the page may have threads, within these bounds. */
const [LEAST_KEYS, MOST_KEYS] = [10, 1_000];
/** The number of threads that are read at once. */
const READ_AT_ONCE = 100;
/** A page ends early after this number of metadata characters. */
const METADATA_PER_PAGE = 4 * 1024 ** 2;

/** What a listing needs from its driver. */
export interface ListSource {
  readonly client: RedisClient;
  readonly keyPrefix: string;
  /** Sends a command when the client is ready. */
  send<T>(command: () => Promise<T>): Promise<T>;
  read(threadId: string): Promise<ThreadView>;
}

/**
 * Lists one page: makes `SCAN` steps on one server after the other, and reads each thread that they find.
 *
 * `SCAN` finds each key that stays on its server, but misses a key that moves to a server that was already scanned. So if
 * keys may have moved during a pass over the servers, all servers are scanned again.
 */
export async function listThreads(request: ListRequest, source: ListSource): Promise<ThreadListing> {
  const from = request.cursor === undefined ? undefined : parseCursor(request.cursor);
  const servers = await source.send(() => serversOf(source.client));
  const currentTopology = () => source.send(() => topologyOf(servers));
  const page = new Page(request, source);
  let cursor = from ?? beginning(servers[0], await currentTopology());
  for (let steps = 0; steps < STEPS_PER_PAGE && !page.isFull; steps++) {
    // The server of the cursor may no longer be in the cluster.
    const server = servers.find(({ mark }) => mark >= cursor.server);
    const next = server && (await page.step(server, cursor));
    if (next) {
      cursor = next;
      continue;
    }
    const following = server && servers.find(({ mark }) => mark > server.mark);
    const topology = following ? cursor.topology : await currentTopology();
    if (!following && topology === cursor.topology) return page.found;
    cursor = beginning(following ?? servers[0], topology);
  }
  return { ...page.found, cursor: formatCursor(cursor) };
}

const NO_MARK = "0".repeat(16);

/** The cursor for a scan of a server from its beginning. */
function beginning(server: Server | undefined, topology: string): ScanCursor {
  return { topology, server: server?.mark ?? NO_MARK, process: NO_MARK, step: "0", taken: undefined };
}

class Page {
  readonly #threads: ListedThread[] = [];
  readonly #corrupt: StoreError[] = [];
  readonly #request: ListRequest;
  readonly #source: ListSource;
  #metadataLength = 0;

  constructor(request: ListRequest, source: ListSource) {
    this.#request = request;
    this.#source = source;
  }

  get found(): ThreadListing {
    return { threads: this.#threads, corrupt: this.#corrupt };
  }

  get isFull(): boolean {
    return this.#room === 0 || this.#metadataLength >= METADATA_PER_PAGE;
  }

  get #room(): number {
    return this.#request.limit - this.#threads.length - this.#corrupt.length;
  }

  /** Makes one step on a server. Returns the cursor of the next step, or undefined when the server is done. */
  async step(server: Server, { topology, ...cursor }: ScanCursor): Promise<ScanCursor | undefined> {
    const start = beginning(server, topology);
    const { step, taken } = server.mark === cursor.server ? cursor : start;
    const { process, next, keys } = await this.#source.send(() => this.#scan(server, step));
    // Another process now has this address, and scans its keys in another order.
    if ((step !== "0" || taken) && process !== cursor.process) return start;

    const marked = keys.map((key) => [markOf(key), key] as const).sort(([a], [b]) => (a < b ? -1 : 1));
    const isTaken = (mark: string) => taken?.next === next && mark <= taken.mark;
    const rest = marked.filter(([mark]) => !isTaken(mark));
    while (rest.length > 0) {
      const some = rest.splice(0, Math.min(READ_AT_ONCE, this.#room));
      await Promise.all(some.map(([, key]) => this.#read(key)));
      const mark = some.at(-1)?.[0];
      if (rest.length > 0 && this.isFull && mark !== undefined)
        return { topology, server: server.mark, process, step, taken: { next, mark } };
    }
    return next === "0"
      ? undefined
      : { topology, server: server.mark, process, step: next, taken: undefined };
  }

  async #scan({ client }: Server, step: string): Promise<{ process: string; next: string; keys: string[] }> {
    const { prefix, limit } = this.#request;
    const clientPrefix = this.#source.client.options.keyPrefix ?? "";
    const pattern = messagesPattern(clientPrefix, this.#source.keyPrefix, prefix);
    const count = Math.min(Math.max(limit, LEAST_KEYS), MOST_KEYS);
    // On one connection, so by one process. ioredis adds the client's own prefix only to keys, not to patterns.
    const replies = await client
      .pipeline()
      .scan(step, "MATCH", pattern, "COUNT", count)
      .info("server")
      .exec();
    const [[next, keys], info] = (replies ?? []).map(([error, reply]) => (error ? raise(error) : reply)) as [
      [string, string[]],
      string,
    ];
    const process = markOf(/^run_id:(\w+)/m.exec(info)?.[1] ?? "");
    return { process, next, keys: keys.map((key) => key.slice(clientPrefix.length)) };
  }

  async #read(key: string): Promise<void> {
    const threadId = threadIdOf(this.#source.keyPrefix, key);
    try {
      const { revision, count, createdAt, updatedAt, expiresAt, metadata } =
        await this.#source.read(threadId);
      if (revision === null) return;
      this.#metadataLength += metadata?.length ?? 0;
      this.#threads.push({ threadId, count, createdAt, updatedAt, expiresAt, metadata });
    } catch (error) {
      if (!StoreError.is(error, "CORRUPT")) throw error;
      this.#corrupt.push(error);
    }
  }
}

function raise(error: Error): never {
  throw error;
}
