import type { Random } from "@scrollback/conformance/internal";
import type { ErrorClassification } from "@scrollback/store-core/driver";
import { MemoryIndex } from "@scrollback/store-core/internal";
import {
  type Amendment,
  FIRST_ROW,
  type LogRow,
  type RecordLog,
  type RecordLogCapabilities,
  type StreamPage,
  type StreamsRequest,
} from "../index.ts";
import { decodeHead, type Head } from "../rows/format.ts";
import type { SimulatedClient } from "./client.ts";
import { SimulationFailure } from "./failure.ts";
import type { Counters } from "./faults.ts";
import { ConnectionLost, MINUTE, type Network, SECOND } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";
import type { RowOrigin, StoredRow } from "./simulated-call.ts";
import { indexFor } from "./simulated-index.ts";
import { StoredRows } from "./stored-rows.ts";

export interface BackendOptions {
  readonly maxRowBytes: number;
  /** Whether a refused insert returns the row that holds the key. */
  readonly returnsWinner: boolean;
  /** Whether a read of heads leaves out the texts. */
  readonly omitsTexts: boolean;
  /** The share of amendments that reach only some of their rows, because their client dies. Default: none. */
  readonly halfAmendments?: number;
  /** How far the backend's clock is ahead of the simulated time, in milliseconds. */
  readonly skew: number;
  /** Whether the first request to an unknown stream creates it. Default: it fails the run. */
  readonly hasAnyStream?: boolean;
}

/** Receives the changes of a thread's rows. */
export interface RowListener {
  /** The newest step of the thread. */
  readonly step: number;
  onInsert(row: StoredRow): void;
  /** The backend is about to delete the row. */
  onDelete(row: StoredRow): void;
}

/** An amendment is late if it takes effect this long after it was sent. */
const LATE_MS = 5 * MINUTE;
const MAX_AMENDMENTS = 5_000;
const MAX_ROWS_A_READ = 5_000;
const noListener: RowListener = { step: 0, onInsert: () => undefined, onDelete: () => undefined };

/** The rows of all threads, shared by all clients. */
export class SimulatedBackend {
  readonly #streams = new Map<string, { readonly rows: StoredRows; readonly listener: RowListener }>();
  readonly #scheduler: Scheduler;
  readonly #network: Network;
  readonly #random: Random;
  readonly #counters: Counters;
  readonly #options: BackendOptions;
  readonly #capabilities: RecordLogCapabilities;
  readonly #index: MemoryIndex;

  constructor(
    scheduler: Scheduler,
    network: Network,
    random: Random,
    counters: Counters,
    options: BackendOptions,
  ) {
    this.#scheduler = scheduler;
    this.#network = network;
    this.#random = random;
    this.#counters = counters;
    this.#options = options;
    this.#index = new MemoryIndex({ wall: () => scheduler.now + options.skew });
    this.#capabilities = Object.freeze({
      backend: "simulated-log",
      sharing: "network",
      roundTrips: Object.freeze({ commit: 1, read: 1 }),
      maxRowBytes: options.maxRowBytes,
    });
  }

  /** Makes a thread's stream. Drivers can use no other. */
  add(threadId: string, rows: StoredRows, listener: RowListener): void {
    this.#streams.set(threadId, { rows, listener });
  }

  /** The log for one client. */
  logFor(client: SimulatedClient): RecordLog {
    return {
      capabilities: this.#capabilities,
      index: indexFor({ network: this.#network, scheduler: this.#scheduler }, this.#index, client),
      insert: client.untilCrash((stream: string, row: LogRow) => this.#insert(client, stream, row)),
      read: client.untilCrash((stream: string, below: number, limit: number, heads: boolean) =>
        this.#read(client, stream, below, limit, heads),
      ),
      amend: client.untilCrash((stream: string, amendments: readonly Amendment[]) =>
        this.#amend(client, stream, amendments),
      ),
      streams: client.untilCrash((request: StreamsRequest) => this.#listStreams(client, request)),
      close: async () => undefined,
      classifyError,
    };
  }

  /** Deletes a share of the rows that have expired by the backend's clock. */
  sweep(): void {
    const share = this.#random.pick(0.1, 0.5, 1);
    const now = this.#scheduler.now + this.#options.skew + (this.#random.next() - 0.5) * 60 * SECOND;
    for (const { rows, listener } of this.#streams.values()) {
      for (const stored of [...rows.all()]) {
        const { expiresAt } = stored.row;
        if (expiresAt === undefined || expiresAt > now || !this.#random.chance(share)) continue;
        if (!this.#network.strikes("deletion", 1)) continue;
        this.#scheduler.step("sweep", 0, stored.number);
        listener.onDelete(stored);
        rows.delete(stored.number);
      }
    }
  }

  #stream(name: string) {
    if (this.#options.hasAnyStream && !this.#streams.has(name)) this.add(name, new StoredRows(), noListener);
    const stream = this.#streams.get(name);
    if (!stream) this.#fail("isolation", `a request reached the stream "${name}"`);
    return stream;
  }

  #insert(client: SimulatedClient, name: string, row: LogRow): Promise<boolean | LogRow> {
    const { rows, listener } = this.#stream(name);
    this.#checkSize(row);
    const head = this.#decode(row);
    const origin = (isEcho: boolean): RowOrigin => ({
      client: client.index,
      call,
      earlier,
      ...walls,
      sentAt,
      isEcho,
    });
    const call = client.callOf(name, head);
    const earlier = client.earlierCallsOf(name, head);
    const isWrite = head.operationId !== undefined || call?.deletion !== undefined;
    if (isWrite && [...earlier, call].some((write) => write?.isAborted))
      this.#fail("abort", `row ${row.number} was sent after a caller of it had aborted`);
    const walls = client.possibleWalls();
    const sentAt = this.#scheduler.now;
    const words = () => `insert ${this.#inStream(name)}${describe(head)}`;
    return this.#network.send<boolean | LogRow>(
      client,
      { isWrite: true, isOfRoots: row.number < FIRST_ROW, number: row.number, words },
      (reply, isEcho) => {
        const winner = rows.get(row.number);
        if (winner) {
          winner.isDoubled ||= winner.head?.token === head.token;
          this.#scheduler.note(() => `the key is taken by ${winner.head?.token ?? "a foreign row"}`);
          return reply(this.#options.returnsWinner ? winner.row : false);
        }
        const stored: StoredRow = {
          number: row.number,
          row,
          heads: { ...row, texts: [] },
          head,
          origin: origin(isEcho),
          insertedAt: listener.step,
          isLinked: false,
          isFreed: false,
          isReleased: false,
          isExtendedLate: false,
          isDoubled: false,
        };
        rows.insert(stored);
        listener.onInsert(stored);
        reply(true);
      },
    );
  }

  #read(
    client: SimulatedClient,
    name: string,
    below: number,
    limit: number,
    heads: boolean,
  ): Promise<LogRow[]> {
    const { rows } = this.#stream(name);
    if (!(limit >= 1 && limit <= MAX_ROWS_A_READ) || Number.isNaN(below))
      this.#fail("requests", `a read of ${limit} rows below ${below}`);
    const look = (from: number, count: number) =>
      rows
        .below(from, count)
        .map((stored) => (heads && this.#options.omitsTexts ? stored.heads : stored.row));
    const words = () => `read ${this.#inStream(name)}${limit} below ${below}${heads ? ", heads" : ""}`;
    const number = below === Number.POSITIVE_INFINITY ? 0 : below;
    return this.#network.send(client, { isWrite: false, number, words }, (reply) => {
      const all = look(below, limit);
      if (!this.#network.strikes("torn reads", 0.3)) return reply(all);
      const first = all.slice(0, Math.floor(all.length / 2));
      this.#scheduler.at(this.#scheduler.now + this.#random.next() * 2 * SECOND, () => {
        reply([...first, ...look(first.at(-1)?.number ?? below, limit - first.length)]);
      });
    });
  }

  #amend(client: SimulatedClient, name: string, amendments: readonly Amendment[]): Promise<void> {
    const { rows } = this.#stream(name);
    if (amendments.length === 0 || amendments.length > MAX_AMENDMENTS)
      this.#fail("requests", `a request of ${amendments.length} amendments`);
    const words = () => `amend ${this.#inStream(name)}${JSON.stringify(amendments).slice(0, 2_000)}`;
    const number = amendments[0]?.from ?? 0;
    const sent = this.#scheduler.now;
    const isOfRoots = amendments.some(({ from }) => from < FIRST_ROW);
    const { halfAmendments = 0 } = this.#options;
    const { incarnation } = client;
    return this.#network.send<void>(client, { isWrite: true, isOfRoots, number, words }, (reply) => {
      const changes = amendments.flatMap((amendment) =>
        rows.numbersWithin(amendment.from, amendment.to).map((row) => ({ row, amendment })),
      );
      const amend = (some: typeof changes) => {
        const isLate = this.#scheduler.now - sent > LATE_MS;
        for (const { row, amendment } of some) rows.amend(row, amendment, isLate);
      };
      if (!this.#network.strikes("torn amendments", 0.3)) {
        amend(changes);
        return reply();
      }
      const shuffled = changes
        .map((change) => ({ change, place: this.#random.next() }))
        .sort((a, b) => a.place - b.place)
        .map(({ change }) => change);
      const cut = this.#random.below(changes.length + 1);
      amend(shuffled.slice(0, cut));
      if (halfAmendments > 0 && this.#network.strikes("half amendments", halfAmendments)) {
        if (client.incarnation === incarnation) this.#network.crash(client);
        return;
      }
      this.#scheduler.at(this.#scheduler.now + this.#random.next() * 2 * SECOND, () => {
        amend(shuffled.slice(cut));
        reply();
      });
    });
  }

  #listStreams(client: SimulatedClient, { prefix, limit, after = "" }: StreamsRequest): Promise<StreamPage> {
    const words = () => `streams from ${after}`;
    return this.#network.send(client, { isWrite: false, number: 0, words }, (reply) => {
      const names = [...this.#streams]
        .filter(
          ([name, { rows }]) =>
            name.startsWith(prefix) && name > after && rows.below(FIRST_ROW, 1).length > 0,
        )
        .map(([name]) => name)
        .sort();
      const streams = names.slice(0, limit);
      reply({ streams, ...(names.length > limit && { next: streams.at(-1) }) });
    });
  }

  /** The stream of a request, if there are several. */
  #inStream(name: string): string {
    return this.#options.hasAnyStream ? `${name}, ` : "";
  }

  #decode(row: LogRow): Head {
    try {
      return decodeHead(row.number, row.head);
    } catch (error) {
      return this.#fail("format", `a driver wrote a head that cannot be read: ${error}`);
    }
  }

  /** Also fails the run, because a driver may treat the error as one of the backend. */
  #fail(rule: string, message: string): never {
    const failure = new SimulationFailure(rule, message);
    this.#scheduler.fail(failure);
    throw failure;
  }

  #checkSize(row: LogRow): void {
    let bytes = Buffer.byteLength(row.head);
    for (const text of row.texts) bytes += Buffer.byteLength(text);
    this.#counters.largest("largest row, bytes", bytes);
    if (bytes > this.#options.maxRowBytes) this.#fail("row size", `row ${row.number} has ${bytes} bytes`);
    if (!Number.isSafeInteger(row.number) || row.number < 1)
      this.#fail("row size", `a row has the number ${row.number}`);
  }
}

function classifyError(error: unknown): ErrorClassification | undefined {
  if (!(error instanceof ConnectionLost)) return undefined;
  return { code: "UNAVAILABLE", message: "the connection was lost", retryable: true };
}

function describe(head: Head): string {
  const { number, n, token, predecessor, operationId, closed, base } = head;
  const kind = base !== undefined ? `root, base ${base}` : closed ? "block" : (operationId ?? "no commit");
  return `row ${number} (${kind}), n ${n}, ${token} on ${predecessor ?? "nothing"}`;
}
