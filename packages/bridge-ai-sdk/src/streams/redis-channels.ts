import type { Redis } from "ioredis";

/** Channels of Redis, on a separate connection that is opened for the first channel. */
export class Channels {
  readonly #redis: Redis;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Map<string, (message: string) => void>();
  #subscriber: Redis | undefined;

  constructor(redis: Redis, onError: (error: unknown) => void) {
    this.#redis = redis;
    this.#onError = onError;
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    this.#listeners.set(channel, listener);
    await this.#connection().subscribe(channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#listeners.delete(channel);
    await this.#subscriber?.unsubscribe(channel);
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.#listeners.clear();
    this.#subscriber?.disconnect();
    this.#subscriber = undefined;
  }

  #connection(): Redis {
    if (this.#subscriber) return this.#subscriber;
    const subscriber = this.#redis.duplicate();
    subscriber.on("error", this.#onError);
    subscriber.on("message", (channel, message) => this.#listeners.get(channel)?.(message));
    this.#subscriber = subscriber;
    return subscriber;
  }
}
