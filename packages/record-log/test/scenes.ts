import { setImmediate } from "node:timers/promises";
import { createMemoryStores, type MessageStore, type StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import {
  type Amendment,
  type LogRow,
  MemoryRecordLog,
  type RecordLog,
  RecordLogDriver,
  type StreamPage,
  type StreamsRequest,
} from "../src/index.ts";

export const HOUR = 60 * 60 * 1_000;
export const DAY = 24 * HOUR;
/** The thread that every scene is about. */
export const THREAD = "thread";

/** One request of a process to the log. */
export type LogRequest = { readonly stream: string } & (
  | { readonly verb: "insert"; readonly row: LogRow }
  | { readonly verb: "read"; readonly limit: number; readonly heads: boolean; rows: readonly LogRow[] }
  | { readonly verb: "amend"; readonly amendments: readonly Amendment[] }
);

type Hook = (request: LogRequest) => Promise<unknown> | undefined;

/** One process's access to the log. Records each request, and lets a test act before or after a request takes effect. */
export class WatchedLog implements RecordLog {
  readonly capabilities;
  readonly requests: LogRequest[] = [];
  /** Runs before a request takes effect. */
  before: Hook = () => undefined;
  /** Runs after a request has taken effect and before its reply arrives. */
  after: Hook = () => undefined;
  /** Replaces the result of an insert that took effect. */
  answer: (() => Promise<boolean>) | undefined;
  /** Replaces a row in the results of reads. */
  show: (row: LogRow) => LogRow = (row) => row;
  /** Whether inserts and amendments succeed without an effect. */
  isFrozen = false;
  readonly #log: MemoryRecordLog;

  constructor(log: MemoryRecordLog) {
    this.#log = log;
    this.capabilities = log.capabilities;
  }

  async insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    const inserted = await this.#send({ verb: "insert", stream, row }, async () =>
      this.isFrozen ? true : await this.#log.insert(stream, row),
    );
    return this.answer ? await this.answer() : inserted;
  }

  async read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    const request: LogRequest = { verb: "read", stream, limit, heads, rows: [] };
    return await this.#send(request, async () => {
      const found = await this.#log.read(stream, below, limit);
      const rows = found.map((row) => this.show(heads ? { ...row, texts: [] } : row));
      request.rows = rows;
      return rows;
    });
  }

  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    await this.#send({ verb: "amend", stream, amendments }, async () => {
      if (!this.isFrozen) await this.#log.amend(stream, amendments);
    });
  }

  async streams(request: StreamsRequest): Promise<StreamPage> {
    return await this.#log.streams(request);
  }

  async close(): Promise<void> {}

  classifyError(): { code: "UNAVAILABLE"; message: string } {
    return { code: "UNAVAILABLE", message: "the connection is lost" };
  }

  /** The number of sent requests with this verb. */
  count(verb: LogRequest["verb"]): number {
    return this.requests.filter((request) => request.verb === verb).length;
  }

  async #send<T>(request: LogRequest, run: () => Promise<T>): Promise<T> {
    this.requests.push(request);
    await this.before(request);
    const result = await run();
    await this.after(request);
    return result;
  }
}

/** One process: its own driver, and its store of the thread. */
export interface Process {
  readonly log: WatchedLog;
  readonly store: MessageStore;
}

/** The options of a process of a scene. */
export interface ProcessOptions extends StoreOptions {
  /** The milliseconds by which the clock of the process is behind. */
  readonly behind?: number;
}

/** Processes that share one log, and a clock that only the test moves. */
export class Scene {
  readonly rows: MemoryRecordLog;
  now = Date.UTC(2030, 0, 1);

  constructor(maxRowBytes?: number) {
    this.rows = new MemoryRecordLog(maxRowBytes);
  }

  open({ behind = 0, ...options }: ProcessOptions = {}): Process {
    const clock: Clock = {
      wall: () => this.now - behind,
      monotonic: () => this.now,
      sleep: async () => void (await setImmediate()),
    };
    const log = new WatchedLog(this.rows);
    return { log, store: createStores(new RecordLogDriver(log, { clock }), options).open(THREAD) };
  }

  /** Advances the clock; then the backend deletes all expired rows. */
  wait(ms: number): void {
    this.now += ms;
    this.rows.sweep(this.now);
  }

  /** All texts in the backend. */
  textsAtRest(): string {
    return this.rows
      .rowsOf(THREAD)
      .flatMap((row) => row.texts)
      .join("\n");
  }

  /** The UTF-8 bytes of all heads and texts in the backend. */
  bytesAtRest(): number {
    return this.rows.rowsOf(THREAD).reduce((sum, row) => sum + bytesOf(row), 0);
  }
}

/** A scene whose processes all have the same options. */
export function uniformScene({ maxRowBytes, ...options }: StoreOptions & { maxRowBytes?: number } = {}): {
  readonly log: MemoryRecordLog;
  open(): Process;
  wait(ms: number): void;
} {
  const scene = new Scene(maxRowBytes);
  return { log: scene.rows, open: () => scene.open(options), wait: (ms) => scene.wait(ms) };
}

/** The verbs of the requests of a process, in order. */
export function verbsOf({ requests }: WatchedLog): string[] {
  return requests.map(({ verb }) => verb);
}

export function bytesOf({ head, texts }: LogRow): number {
  return Buffer.byteLength(head) + texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** A thread in the memory driver: the expected result of the same commits. */
export function openReference(options: StoreOptions): MessageStore {
  return createMemoryStores(options).open(THREAD);
}

/** Holds the first matching request before it takes effect, or with `"reply"` its reply. */
export function holdBack(
  log: WatchedLog,
  isHeld: (request: LogRequest) => boolean,
  what: "request" | "reply" = "request",
): { readonly isReached: Promise<void>; release(): void } {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const hook: Hook = (request) => {
    if (!isHeld(request)) return undefined;
    if (what === "request") log.before = () => undefined;
    else log.after = () => undefined;
    reached.resolve();
    return released.promise;
  };
  if (what === "request") log.before = hook;
  else log.after = hook;
  return { isReached: reached.promise, release: released.resolve };
}

export const system = (content: string) => ({ role: "system" as const, content });
export const user = (content: string) => ({ role: "user" as const, content });
export const assistant = (content: string) => ({ role: "assistant" as const, content });

/** The texts of a thread's messages. */
export async function contentsOf(store: MessageStore): Promise<string[]> {
  return (await store.listMessages()).map(({ content }) => String(content));
}

/** Adds `count` user messages, each in a separate commit. */
export async function addEach(store: MessageStore, count: number, prefix: string): Promise<string[]> {
  const contents = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  for (const content of contents) await store.addMessages([user(content)]);
  return contents;
}
