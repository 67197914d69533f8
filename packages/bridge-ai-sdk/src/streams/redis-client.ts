import { type Check, hasMethods } from "@scrollback/store-core/driver";

/**
 * A client that stays open, of ioredis 5 or 6, of iovalkey, or of node-redis 5 or 6; one of node-redis must be connected. Its type is
 * structural, so that none of these packages need to be installed.
 */
export interface RedisStreamsClient {
  duplicate(...overrides: never[]): unknown;
  get(key: string): Promise<unknown>;
  incr(key: string): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
}

/** What streams need of any client. */
export interface RedisCommands {
  get(key: string): Promise<string | null>;
  /** @param seconds until the key expires; 0: it does not. */
  set(key: string, value: string, seconds: number): Promise<unknown>;
  incr(key: string): Promise<number>;
  publish(channel: string, message: string): Promise<number>;
  /** Opens another connection, for listening. */
  listen(onMessage: (channel: string, message: string) => void, onError: (error: unknown) => void): Listener;
}

export interface Listener {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  close(): void;
}

/** A client of ioredis or iovalkey. */
interface Ioredis extends Omit<RedisCommands, "set" | "listen"> {
  set(key: string, value: string, ...expiry: ["EX", number] | []): Promise<unknown>;
  duplicate(): Ioredis;
  on(event: string, listener: (...values: string[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

interface NodeRedis extends Omit<RedisCommands, "set" | "listen"> {
  set(key: string, value: string, options?: { EX: number }): Promise<unknown>;
  duplicate(): NodeRedis;
  on(event: "error", listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  destroy(): unknown;
}

/** A check for clients that can listen. Those of Redis over HTTP cannot. */
export const isClient: Check = (value) =>
  hasMethods("publish", "duplicate", "get", "set")(value) &&
  "must be a client of ioredis, iovalkey or node-redis, which can subscribe to channels; one over HTTP cannot";

export function commandsOf(client: RedisStreamsClient): RedisCommands {
  const isNodeRedis = hasMethods("sendCommand", "destroy")(client) === undefined;
  return isNodeRedis ? ofNodeRedis(client as NodeRedis) : ofIoredis(client as Ioredis);
}

function ofIoredis(client: Ioredis): RedisCommands {
  return {
    get: (key) => client.get(key),
    set: (key, value, seconds) =>
      seconds > 0 ? client.set(key, value, "EX", seconds) : client.set(key, value),
    incr: (key) => client.incr(key),
    publish: (channel, message) => client.publish(channel, message),
    listen(onMessage, onError) {
      const subscriber = client.duplicate();
      subscriber.on("error", onError);
      subscriber.on("message", (channel = "", message = "") => onMessage(channel, message));
      return {
        subscribe: (channel) => subscriber.subscribe(channel),
        unsubscribe: (channel) => subscriber.unsubscribe(channel),
        close: () => subscriber.disconnect(),
      };
    },
  };
}

function ofNodeRedis(client: NodeRedis): RedisCommands {
  return {
    get: (key) => client.get(key),
    set: (key, value, seconds) => client.set(key, value, ...(seconds > 0 ? [{ EX: seconds }] : [])),
    incr: (key) => client.incr(key),
    publish: (channel, message) => client.publish(channel, message),
    listen(onMessage, onError) {
      const subscriber = client.duplicate();
      subscriber.on("error", onError);
      const connected = subscriber.connect();
      connected.catch(onError);
      // One function for all channels: the client calls each function once for a message, however often it is subscribed.
      const listener = (message: string, channel: string) => onMessage(channel, message);
      return {
        subscribe: (channel) => connected.then(() => subscriber.subscribe(channel, listener)),
        unsubscribe: (channel) => connected.then(() => subscriber.unsubscribe(channel)),
        // Of a client that is not open it throws, or rejects.
        close: () => void (async () => subscriber.destroy())().catch(() => undefined),
      };
    },
  };
}
