import type { Clock } from "../clock.ts";
import type { Codec } from "../codec/codec.ts";
import { decodeMetadata } from "../codec/record.ts";
import type { Driver } from "../driver/driver.ts";
import { closedError, StoreError } from "../errors.ts";
import type { MessageTraits } from "../message/message.ts";
import { duringOutage, retryAfter, throwIfAborted, untilAborted } from "../retry.ts";
import type { SetupOnDemand } from "./setup-on-demand.ts";
import type { StoreSettings } from "./state.ts";

/** The state that contexts share if they are closed together. */
interface Shared {
  closing?: Promise<void>;
  /** The last exclusive writer of each thread. */
  readonly alone: Map<string, Promise<unknown>>;
}

/** The driver, codec, traits, clock and closed state that the stores of one factory share. */
export class StoreContext<M> {
  readonly driver: Driver;
  readonly codec: Codec;
  readonly traits: MessageTraits<M>;
  readonly onCorruptRecord: ((error: StoreError) => void) | undefined;
  readonly clock: Clock;
  /** The end of each thread's last exclusive writer: a commit begins after it. */
  readonly writers: ReadonlyMap<string, Promise<unknown>>;
  /** The settings of the factory. */
  readonly settings: StoreSettings;
  readonly #setup: SetupOnDemand | null;
  readonly #shared: Shared;

  constructor(
    driver: Driver,
    given: StoreSettings,
    how: {
      codec: Codec;
      traits: MessageTraits<M>;
      onCorruptRecord: ((error: StoreError) => void) | undefined;
      clock: Clock;
      setup: SetupOnDemand | null;
    },
    shared: Shared = { alone: new Map() },
  ) {
    this.driver = driver;
    this.codec = how.codec;
    this.traits = how.traits;
    this.onCorruptRecord = how.onCorruptRecord;
    this.clock = how.clock;
    this.#setup = how.setup;
    this.settings = given;
    this.#shared = shared;
    this.writers = shared.alone;
    this.settingsFor({});
  }

  /** The same context for messages of another type; closed together with this one. */
  withTraits<N>(traits: MessageTraits<N>): StoreContext<N> {
    const { driver, codec, onCorruptRecord, clock } = this;
    const setup = this.#setup;
    return new StoreContext<N>(
      driver,
      this.settings,
      { codec, traits, onCorruptRecord, clock, setup },
      this.#shared,
    );
  }

  /**
   * The settings of a store that is restored with `saved`. The factory's settings take precedence; `saved` supplies the
   * rest.
   *
   * @throws StoreError `UNSUPPORTED` for a setting that the driver cannot honour.
   */
  settingsFor(saved: StoreSettings): StoreSettings {
    const maxMessages = this.settings.maxMessages ?? saved.maxMessages;
    const trimming = this.settings.trimming ?? saved.trimming;
    const ttlMs = this.settings.ttlMs ?? saved.ttlMs;
    if (ttlMs !== undefined) this.assertExpiry();
    return {
      ...(maxMessages !== undefined && { maxMessages }),
      ...(trimming !== undefined && { trimming }),
      ...(ttlMs !== undefined && { ttlMs }),
    };
  }

  /** @throws StoreError `UNSUPPORTED` if the driver cannot expire threads. */
  assertExpiry(): void {
    const { backend, expiry } = this.driver.capabilities;
    if (expiry) return;
    throw new StoreError("UNSUPPORTED", `ttlMs: the ${backend} backend cannot expire threads; leave it out`);
  }

  /** The clock's time, in the form that a record can contain. */
  now(): number {
    return Math.max(0, Math.floor(this.clock.wall()));
  }

  /** Passes a `CORRUPT` error to `onCorruptRecord`, if it is set; throws any other. */
  reportCorrupt(error: unknown): void {
    const { onCorruptRecord } = this;
    if (!onCorruptRecord || !StoreError.is(error, "CORRUPT")) throw error;
    onCorruptRecord(error);
  }

  /** Decodes metadata; nothing for a damaged text that `onCorruptRecord` takes. */
  metadataOf(text: string, threadId: string): { metadata?: unknown } {
    try {
      return { metadata: decodeMetadata(this.codec, text, threadId) };
    } catch (error) {
      this.reportCorrupt(error);
      return {};
    }
  }

  /**
   * Sends a request, and retries during a short outage of the backend, unless the driver sends each request once. Only for repeatable
   * operations: reads, and commits with an operation id. Calls `onRetry` with the error before each retry.
   */
  async request<T>(
    operation: () => Promise<T>,
    signal?: AbortSignal,
    onRetry?: (error: StoreError) => void,
    setup: SetupOnDemand | null = this.#setup,
  ): Promise<T> {
    this.assertOpen();
    const send = setup ? () => setup.send(operation, () => this.#assertWanted(signal)) : operation;
    const attempt = () => this.#once(send, signal);
    if (this.driver.sendsOnce) return await attempt();
    const { clock } = this;
    const began = clock.monotonic();
    try {
      // Without the layers that a signal needs, because the first attempt is nearly always the only one.
      return await (signal ? attempt() : send());
    } catch (error) {
      const failure = signal ? error : this.toStoreError(error);
      const isRetryable = duringOutage(clock, onRetry, began);
      return await retryAfter(failure, attempt, { isRetryable, signal, clock });
    }
  }

  /** Sends a request once: it must not be repeated. */
  once<T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const setup = this.#setup;
    const send = setup ? () => setup.send(operation, () => this.#assertWanted(signal)) : operation;
    return this.#once(send, signal);
  }

  /** Runs the driver's setup, then `check`, as {@link StoreContext.request} does. */
  async setUp(check: () => Promise<unknown>): Promise<void> {
    const setUp = async () => {
      await this.driver.setup?.();
      this.#setup?.done();
      await check();
    };
    await this.request(setUp, undefined, undefined, null);
  }

  #assertWanted(signal: AbortSignal | undefined): void {
    this.assertOpen();
    throwIfAborted(signal);
  }

  #once<T>(operation: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return untilAborted(() => this.#attempt(operation), signal);
  }

  async #attempt<T>(operation: () => Promise<T>): Promise<T> {
    this.assertOpen();
    try {
      return await operation();
    } catch (error) {
      throw this.toStoreError(error);
    }
  }

  /** Runs `write` exclusively for its thread: commits that have not begun yet wait, see {@link StoreContext.writers}. */
  async alone<T>(threadId: string, write: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { alone } = this.#shared;
    const before = alone.get(threadId);
    const turn = untilAborted(async () => {
      await before;
      return await write();
    }, signal);
    const ended = turn.then(noop, noop);
    alone.set(threadId, ended);
    try {
      return await turn;
    } finally {
      if (alone.get(threadId) === ended) alone.delete(threadId);
    }
  }

  assertOpen(): void {
    if (this.#shared.closing) throw closedError();
  }

  /** Converts a verb's error to a StoreError with the raw error as cause. */
  toStoreError(error: unknown): StoreError {
    if (this.#shared.closing)
      return new StoreError("CLOSED", "the store factory was closed during the call", { cause: error });
    if (StoreError.is(error)) return error;
    const { backend } = this.driver.capabilities;
    const known = this.driver.classifyError(error);
    if (!known)
      return new StoreError("UNAVAILABLE", `${backend}: the backend failed; see cause`, { cause: error });
    return new StoreError(known.code, known.message, { ...known, cause: error });
  }

  close(): Promise<void> {
    this.#shared.closing ??= this.driver.close();
    return this.#shared.closing;
  }
}

function noop(): void {}
