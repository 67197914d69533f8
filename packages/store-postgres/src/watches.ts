import { setTimeout as sleep } from "node:timers/promises";
import { PendingCalls, REQUEST_TIMEOUT_MS } from "@scrollback/store-core/driver";
import { pause } from "@scrollback/store-core/internal";
import type { Listener, OpenListener } from "./listener.ts";
import { fromText, quote, textArray, toText } from "./text.ts";

/** A thread stays watched for a minute. */
const RENEW_MS = 30_000;
/** The pause before a thread that another transaction has locked is tried again. */
const LOCKED_MS = 1_000;

/** A connection that lasted so long begins with short pauses again when it is lost. */
const LASTING_MS = 10_000;
const COLUMNS = ["id", "payload", "is_watched", "was_watched"]
  .map((column) => `${column}::pg_catalog.text`)
  .join();
const NOT_OPEN = "the connection of the option listen was not open in time";

/** A clock whose pauses do not keep the process alive. */
const idleClock = {
  async sleep(ms: number, signal?: AbortSignal) {
    await sleep(Math.random() * ms, undefined, { ref: false, ...(signal && { signal }) });
  },
};

/** A thread that is watched. */
interface Watched {
  readonly hints: Set<() => void>;
  /** Of its notifications; undefined while changes of the thread may be missed. */
  payload: string | undefined;
}

/** Options of {@link Watches}. */
export interface WatchesOptions {
  readonly open: OpenListener;
  readonly schema: string;
  /** Called with the error of a connection that was lost or could not be opened. */
  readonly onError: (error: unknown) => void;
  /** For tests. Default: 30 s. */
  readonly renewMs?: number;
}

/**
 * The watches of a factory. While there is one, a connection listens for the notifications of the database, and has the server send
 * those of the watched threads, renewed every 30 s, which also shows whether the connection is alive.
 *
 * Each time from which on, or up to which, notifications may be missing ends with a call of `onHint`: after a thread became watched, and
 * after a connection that had watched it was lost.
 */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #threads = new Map<string, Watched>();
  readonly #byPayload = new Map<string, Watched>();
  /** The threads that the server has yet to be told of. */
  readonly #pending = new Set<string>();
  /** Aborted when `#pending` grows. */
  #added = new AbortController();
  /** From the first watch to the end of the last one. */
  #session: PendingCalls | undefined;
  readonly #running = new Set<Promise<void>>();

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  watch(threadId: string, onHint: () => void): Disposable {
    const watched = this.#threads.get(threadId) ?? this.#add(threadId);
    // One function may watch a thread twice.
    const hint = () => onHint();
    watched.hints.add(hint);
    if (!this.#session) this.#start();
    return {
      [Symbol.dispose]: () => {
        watched.hints.delete(hint);
        if (watched.hints.size === 0 && this.#threads.get(threadId) === watched)
          this.#remove(threadId, watched);
      },
    };
  }

  /** Ends all watches. Waits at most 500 ms for the connection. */
  async close(): Promise<void> {
    for (const [threadId, watched] of this.#threads) this.#remove(threadId, watched);
    await Promise.all(this.#running);
  }

  #add(threadId: string): Watched {
    const watched: Watched = { hints: new Set(), payload: undefined };
    this.#threads.set(threadId, watched);
    this.#pending.add(threadId);
    this.#added.abort();
    return watched;
  }

  #remove(threadId: string, watched: Watched): void {
    this.#threads.delete(threadId);
    this.#pending.delete(threadId);
    if (watched.payload !== undefined) this.#byPayload.delete(watched.payload);
    if (this.#threads.size > 0) return;
    void this.#session?.close(() => undefined);
    this.#session = undefined;
  }

  #start(): void {
    const session = new PendingCalls();
    this.#session = session;
    const running = this.#run(session);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  /** Keeps a connection until the session is closed. Never rejects. */
  async #run(session: PendingCalls): Promise<void> {
    const { signal } = session;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const ended = new AbortController();
      const openedAt = performance.now();
      try {
        const listener = this.#options.open({
          onNotification: (payload) => this.#hint(this.#byPayload.get(payload)),
          onEnd: () => ended.abort(),
        });
        try {
          await session.run(() => listener.open(), REQUEST_TIMEOUT_MS, NOT_OPEN);
          await this.#renew(listener, session, ended.signal);
        } finally {
          await listener.close().catch(() => undefined);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#options.onError(error);
      }
      this.#lose();
      if (performance.now() - openedAt > LASTING_MS) attempt = 0;
      await pause(attempt, signal, idleClock).catch(() => undefined);
    }
  }

  /** Tells the server which threads are watched, until the connection is lost. @throws if it is, or if the session is closed. */
  async #renew(listener: Listener, session: PendingCalls, ended: AbortSignal): Promise<never> {
    const { renewMs = RENEW_MS } = this.#options;
    for (let renewAt = 0; ; ) {
      this.#added = new AbortController();
      if (performance.now() >= renewAt) {
        for (const threadId of this.#threads.keys()) this.#pending.add(threadId);
        renewAt = performance.now() + renewMs;
      }
      const ids = [...this.#pending];
      if (ids.length > 0) await this.#register(listener, session, ids, false);
      // Those that were locked, each in a statement of its own, as they may wait.
      for (const id of ids) if (this.#pending.has(id)) await this.#register(listener, session, [id], true);
      const ms = Math.max(0, renewAt - performance.now());
      const signal = AbortSignal.any([session.signal, ended, this.#added.signal]);
      await sleep(this.#pending.size > 0 ? Math.min(LOCKED_MS, ms) : ms, undefined, {
        signal,
        ref: false,
      }).catch(() => undefined);
      session.signal.throwIfAborted();
      if (ended.aborted) throw new Error("Connection terminated");
    }
  }

  async #register(
    listener: Listener,
    session: PendingCalls,
    ids: readonly string[],
    waits: boolean,
  ): Promise<void> {
    const text = `SELECT ${COLUMNS} FROM ${quote(this.#options.schema)}.watch_v1($1, $2)`;
    const call = () => listener.query(text, [textArray(ids.map(toText)), waits]);
    const rows = await session.run(call, REQUEST_TIMEOUT_MS);
    const found = new Map(rows.map(([id, ...state]) => [fromText(String(id)), state]));
    for (const id of ids) {
      const watched = this.#threads.get(id);
      if (!watched) continue;
      const [payload, isWatched, wasWatched] = found.get(id) ?? [];
      if (payload !== undefined && isWatched !== "true") continue;
      this.#pending.delete(id);
      // One that does not exist is looked for at the next renewal.
      const isUnbroken = wasWatched === "true" && payload === watched.payload;
      this.#setPayload(watched, payload === undefined ? undefined : String(payload));
      if (payload !== undefined && !isUnbroken) this.#hint(watched);
    }
  }

  #setPayload(watched: Watched, payload: string | undefined): void {
    if (watched.payload !== undefined) this.#byPayload.delete(watched.payload);
    watched.payload = payload;
    if (payload !== undefined) this.#byPayload.set(payload, watched);
  }

  /** The connection is lost, and what happened before this was noticed may have been missed. */
  #lose(): void {
    for (const watched of this.#threads.values()) {
      if (watched.payload === undefined) continue;
      this.#setPayload(watched, undefined);
      this.#hint(watched);
    }
  }

  #hint(watched: Watched | undefined): void {
    for (const hint of watched?.hints ?? []) hint();
  }
}
