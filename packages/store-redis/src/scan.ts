import type { ListRequest } from "@scrollback/store-core/driver";
import type { OpenCommands, Server } from "./connection.ts";
import { formatCursor, parseCursor, type ScanCursor } from "./cursor.ts";
import { markOf, topologyOf } from "./topology.ts";

/** The maximum number of `SCAN` steps per page, including steps that find nothing. */
const STEPS_PER_PAGE = 10;
/** A step scans about as many keys as the page may have, within these bounds. */
const [LEAST_KEYS, MOST_KEYS] = [10, 1_000];
/** The number of keys that are taken at once. */
const TAKEN_AT_ONCE = 100;

/** What a scan needs from its driver. */
export interface KeySource {
  /** The prefix that the client puts in front of every key. */
  readonly clientPrefix: string;
  /** Sends commands when the client is ready. */
  send<T>(request: (commands: OpenCommands) => Promise<T>): Promise<T>;
}

/** A page to fill with keys. */
export interface KeyPage {
  /** The verb, for errors. */
  readonly caller: "listThreads" | "listIndexes";
  /** The keys to find, by the prefix of the client's own, which it does not add to patterns. */
  pattern(clientPrefix: string): string;
  /** The number of keys that the page has room for. */
  room(): number;
  /** Adds a key, without the client's prefix. */
  take(key: string): Promise<void>;
}

/**
 * Makes `SCAN` steps on one server after the other, until the page is full. Returns the cursor of the next page, if there is one.
 *
 * `SCAN` finds each key that stays on its server, but misses a key that moves to a server that was already scanned. So if
 * keys may have moved during a pass over the servers, all servers are scanned again.
 */
export async function scanPage(
  source: KeySource,
  request: Pick<ListRequest, "limit" | "cursor">,
  page: KeyPage,
): Promise<string | undefined> {
  const from = request.cursor === undefined ? undefined : parseCursor(page.caller, request.cursor);
  const servers = await source.send((commands) => commands.servers());
  const currentTopology = () => source.send(() => topologyOf(servers));
  const scan = new Scan(source, request.limit, page);
  let cursor = from ?? beginning(servers[0], await currentTopology());
  for (let steps = 0; steps < STEPS_PER_PAGE && page.room() > 0; steps++) {
    // The server of the cursor may no longer be in the cluster.
    const server = servers.find(({ mark }) => mark >= cursor.server);
    const next = server && (await scan.step(server, cursor));
    if (next) {
      cursor = next;
      continue;
    }
    const following = server && servers.find(({ mark }) => mark > server.mark);
    const topology = following ? cursor.topology : await currentTopology();
    if (!following && topology === cursor.topology) return undefined;
    cursor = beginning(following ?? servers[0], topology);
  }
  return formatCursor(cursor);
}

const NO_MARK = "0".repeat(16);

/** The cursor for a scan of a server from its beginning. */
function beginning(server: Server | undefined, topology: string): ScanCursor {
  return { topology, server: server?.mark ?? NO_MARK, process: NO_MARK, step: "0", taken: undefined };
}

class Scan {
  readonly #source: KeySource;
  readonly #limit: number;
  readonly #page: KeyPage;

  constructor(source: KeySource, limit: number, page: KeyPage) {
    this.#source = source;
    this.#limit = limit;
    this.#page = page;
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
      const some = rest.splice(0, Math.min(TAKEN_AT_ONCE, this.#page.room()));
      await Promise.all(some.map(([, key]) => this.#page.take(key)));
      const mark = some.at(-1)?.[0];
      if (rest.length > 0 && this.#page.room() <= 0 && mark !== undefined)
        return { topology, server: server.mark, process, step, taken: { next, mark } };
    }
    return next === "0"
      ? undefined
      : { topology, server: server.mark, process, step: next, taken: undefined };
  }

  async #scan(server: Server, step: string): Promise<{ process: string; next: string; keys: string[] }> {
    const { clientPrefix } = this.#source;
    const count = Math.min(Math.max(this.#limit, LEAST_KEYS), MOST_KEYS);
    const match = ["match", this.#page.pattern(clientPrefix), "count", `${count}`];
    const scan = { words: ["scan", step], values: match };
    // On one connection, so by one process. A client adds its own prefix only to keys, not to patterns.
    const replies = await server.pipeline(
      server.hidesProcess ? [scan] : [scan, { words: ["info", "server"] }],
    );
    const [[next, keys], info = ""] = replies as [[string, string[]], string?];
    const process = markOf(/^run_id:(\w+)/m.exec(info)?.[1] ?? "");
    return { process, next, keys: keys.map((key) => key.slice(clientPrefix.length)) };
  }
}
