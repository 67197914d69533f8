import { checkOptions, isString } from "@scrollback/store-core/driver";
import { isFunction, reporter } from "@scrollback/store-core/internal";
import { createResumableStreamContext, type Publisher, type Subscriber } from "resumable-stream/generic";
import { callWithin } from "../turn/call-within.ts";
import {
  commandsOf,
  isClient,
  type Listener,
  type RedisCommands,
  type RedisStreamsClient,
} from "./redis-client.ts";
import { SharedAnswers } from "./shared-answers.ts";
import type { ChatStreams } from "./streams.ts";

/** The library waits for a reply for a second. If its timer fires within that millisecond, it does not settle. */
const REPLY_MS = 1_500;
/** The number of requests for a reply of the process that makes an answer. */
const REQUESTS = 4;

/** The options of {@link redisStreams}. */
export interface RedisStreamsOptions {
  /**
   * A client of ioredis, iovalkey or node-redis, which must be connected. It stays open. Listening uses a duplicate connection, which
   * `close` closes.
   */
  readonly redis: RedisStreamsClient;
  /** The prefix of every key and channel. Default `"scrollback:answers"`. */
  readonly keyPrefix?: string;
  /** Called with errors of Redis. They do not affect making and storing an answer. Default: a warning of the process. */
  onError?(error: unknown): void;
}

/**
 * Running answers over Redis: any server process can resume and stop an answer of another process. The process that makes an
 * answer keeps it in memory and sends it to listeners. Does no I/O until it is used.
 */
export function redisStreams(options: RedisStreamsOptions): ChatStreams {
  const checks = { redis: isClient, keyPrefix: isString, onError: isFunction };
  checkOptions("redisStreams", options, checks, ["redis"]);
  const { keyPrefix = "scrollback:answers" } = options;
  const redis = commandsOf(options.redis);
  const onError = reporter(options.onError);
  const channels = new Channels(redis, onError);
  // The process that makes an answer sends each chunk once for each listener that it knows.
  const answers = new SharedAnswers();
  const stopChannel = (runId: string) => `${keyPrefix}:stop:${runId}`;
  /**
   * The library rejects promises that nothing awaits. Errors are reported here, and a stream that is not published cannot be
   * resumed.
   */
  const reported = async <T>(request: Promise<T>): Promise<T | null> => {
    try {
      return await request;
    } catch (error) {
      onError(error);
      return null;
    }
  };
  const subscriber: Subscriber = {
    connect: async () => undefined,
    subscribe: (channel, listener) => reported(channels.subscribe(channel, listener)).then(() => undefined),
    unsubscribe: (channel) => reported(channels.unsubscribe(channel)),
  };
  const publisher: Publisher = {
    connect: async () => undefined,
    publish: (channel, message) => reported(redis.publish(channel, message)),
    set: (key, value, { EX = 0 } = {}) => reported(redis.set(key, value, EX)),
    get: (key) => reported(redis.get(key)),
    incr: (key) => redis.incr(key),
  };
  const context = createResumableStreamContext({ keyPrefix, waitUntil: null, subscriber, publisher });
  /** Asks again here, once for all listeners: in a busy process the reply may come too late for the library. */
  const openAnswer = async (runId: string) => {
    for (let requests = 1; ; requests++) {
      const asked = context.resumeExistingStream(runId);
      try {
        return (await callWithin(REPLY_MS, "resumable-stream", () => asked)) ?? undefined;
      } catch (error) {
        void asked.then((late) => late?.cancel()).catch(() => undefined);
        if (requests === REQUESTS) throw error;
      }
    }
  };

  return {
    publish(runId, stream) {
      void context
        .createNewResumableStream(runId, () => stream)
        .then((published) => published?.pipeTo(new WritableStream()))
        .catch(onError);
    },
    resume: (runId) => answers.listen(runId, () => openAnswer(runId)),
    async stop(runId) {
      await reported(redis.publish(stopChannel(runId), "stop"));
    },
    onStop(runId, listener) {
      const channel = stopChannel(runId);
      void reported(channels.subscribe(channel, listener));
      return () => void reported(channels.unsubscribe(channel));
    },
    async close() {
      await answers.close();
      await channels.close();
    },
  };
}

/** Channels of Redis, on a separate connection that is opened for the first channel. */
class Channels {
  readonly #redis: RedisCommands;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Map<string, (message: string) => void>();
  #connection: Listener | undefined;

  constructor(redis: RedisCommands, onError: (error: unknown) => void) {
    this.#redis = redis;
    this.#onError = onError;
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    this.#listeners.set(channel, listener);
    const receive = (from: string, message: string) => this.#listeners.get(from)?.(message);
    this.#connection ??= this.#redis.listen(receive, this.#onError);
    await this.#connection.subscribe(channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#listeners.delete(channel);
    await this.#connection?.unsubscribe(channel);
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.#listeners.clear();
    this.#connection?.close();
    this.#connection = undefined;
  }
}
