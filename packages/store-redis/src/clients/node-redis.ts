import { setTimeout as sleep } from "node:timers/promises";
import { type DriverTarget, hostAndPort, REQUEST_TIMEOUT_MS } from "@scrollback/store-core/driver";
import type { Command, Commands, Connection, OpenCommands, Server } from "../connection.ts";
import { askFor, type CredentialsProvider, isRefusedLogin } from "../credentials.ts";
import { closedClient, isErrorReply, isUnreachable } from "../errors.ts";
import { inTime } from "../in-time.ts";
import { markOf } from "../topology.ts";
import {
  type ClusterClient,
  copyOf,
  isCluster,
  isSentinel,
  type NodeRedisClient,
  optionsFor,
  type ServerClient,
  serverOf,
  targetOf,
} from "./node-redis-client.ts";

/** For as long attempts to connect are repeated before the waiting calls fail. */
const CONNECTING_MS = 1_000;
const PAUSE_MS = 100;

/**
 * A connection by node-redis 5 or 6: `createClient`, `createCluster` or `createSentinel`.
 *
 * A client that lost its connection, or did not reply in time, is replaced by a new one. So only this class decides when to connect, and
 * nothing is left that a client could send later.
 */
export class NodeRedisConnection implements Connection {
  readonly isCluster: boolean;
  readonly keyPrefix: string;
  readonly target: DriverTarget | undefined;
  /** The client whose settings are used: the caller's, or one that never connects. */
  readonly #given: NodeRedisClient;
  readonly #isOwned: boolean;
  #client: NodeRedisClient | undefined;
  #connectedAt = 0;
  #connecting: Promise<NodeRedisClient> | undefined;
  /** The client, one that connects, and clusters that were replaced, while calls on their other nodes end. */
  readonly #open = new Set<NodeRedisClient>();
  #server: string | undefined;
  #isEnded = false;

  constructor(given: NodeRedisClient, isOwned = false) {
    this.#given = given;
    this.#isOwned = isOwned;
    this.isCluster = isCluster(given);
    this.keyPrefix = String(Reflect.get(given, "_keyPrefix") ?? "");
    this.target = targetOf(given);
    this.#server = serverOf(given);
    // The events of a client for a server or Sentinel, and of a cluster.
    for (const event of ["end", "disconnect"]) given.on(event, () => this.#end());
    given.on("connect", () => {
      this.#isEnded = false;
    });
  }

  /** For a checked URL, by `createClient` of node-redis. */
  static to(
    url: URL,
    createClient: typeof import("redis").createClient,
    credentials?: CredentialsProvider,
  ): NodeRedisConnection {
    const provider = credentials && {
      type: "async-credentials-provider" as const,
      credentials: () => askFor(credentials),
    };
    const client = createClient({
      ...optionsFor(url),
      ...(provider && { credentialsProvider: provider }),
    });
    return new NodeRedisConnection(client as object as NodeRedisClient, true);
  }

  get server(): string | undefined {
    return this.#server;
  }

  async run<T>(send: (commands: OpenCommands) => Promise<T>): Promise<T> {
    if (this.#isEnded) throw closedClient(undefined);
    const client = this.#client ?? (await this.#connect());
    try {
      return await send({ ...commandsOf(client, this.keyPrefix), servers: () => this.#servers(client) });
    } catch (error) {
      // A server that became a replica may have a new address.
      if (isUnreachable(error) || isReadOnly(error)) this.#replace(client);
      // What a client of Sentinel does after its end.
      if (client !== this.#client && error instanceof TypeError)
        throw new Error("Disconnects client", { cause: error });
      throw error;
    }
  }

  close(): void {
    if (this.#isOwned) this.#end();
  }

  #end(): void {
    this.#isEnded = true;
    this.#client = undefined;
    for (const client of this.#open) this.#destroy(client);
  }

  /** Connects within about a second: attempts at random times would miss the short periods in which a bad connection works. */
  #connect(): Promise<NodeRedisClient> {
    this.#connecting ??= this.#attempts().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #attempts(): Promise<NodeRedisClient> {
    const until = performance.now() + CONNECTING_MS;
    for (let isFirst = true; ; isFirst = false) {
      try {
        return await this.#attempt();
      } catch (error) {
        // A provider of credentials is asked once more.
        const isRefused = isErrorReply(error) && !(isFirst && isRefusedLogin(error));
        if (this.#isEnded || isRefused || performance.now() > until) throw error;
        await sleep(PAUSE_MS * (0.5 + Math.random()));
      }
    }
  }

  async #attempt(): Promise<NodeRedisClient> {
    const client = copyOf(this.#given);
    this.#open.add(client);
    let reason: unknown;
    const onError = (error: unknown) => {
      reason = error;
      // A client of Sentinel also reports sentinels that it does not need.
      if (!isSentinel(client)) this.#replace(client);
    };
    client.on("error", onError);
    client.on("node-error", (error, { host, port }) => {
      this.#server = hostAndPort(host, port);
      onError(error);
    });
    try {
      await inTime(() => client.connect());
      if (this.#isEnded) throw closedClient(undefined);
    } catch (error) {
      this.#destroy(client);
      // The error of a cluster only says that no node could be reached.
      if (error instanceof Error && error !== reason && isUnreachable(reason)) error.cause ??= reason;
      throw error;
    }
    this.#client = client;
    this.#connectedAt = performance.now();
    return client;
  }

  /** The next call opens a new client. A cluster with a node that is down stays for a second, because its other nodes are in use. */
  #replace(client: NodeRedisClient): void {
    if (client !== this.#client) return;
    if (this.isCluster && performance.now() - this.#connectedAt < CONNECTING_MS) return;
    this.#client = undefined;
    if (this.isCluster) setTimeout(() => this.#destroy(client), REQUEST_TIMEOUT_MS).unref();
    else this.#destroy(client);
  }

  #destroy(client: NodeRedisClient): void {
    this.#open.delete(client);
    // Of a client that is not open it throws, or rejects.
    (async () => client.destroy())().catch(() => undefined);
  }

  async #servers(client: NodeRedisClient): Promise<Server[]> {
    if (!isCluster(client)) return [{ mark: markOf(""), ...commandsOf(client, this.keyPrefix) }];
    const slots = await commandsOf(client, "").call({ words: ["cluster", "slots"] });
    const addresses = new Set((slots as Slots).map(([, , [host, port]]) => `${host}:${port}`));
    const known = client.masters.map(({ address }) => address);
    // The client learns about a new node when a command is redirected to it, but SCAN is never redirected.
    const isCurrent = known.length === addresses.size && known.every((address) => addresses.has(address));
    if (!isCurrent) this.#connectedAt = 0;
    if (!isCurrent) this.#replace(client);
    const cluster = (isCurrent ? client : await this.#connect()) as ClusterClient;
    const servers = cluster.masters.map((master) => {
      const sendCommand: ServerClient["sendCommand"] = async (words, options) => {
        const node = await cluster.nodeClient(master);
        return await node.sendCommand(words, options);
      };
      return { mark: markOf(master.address), ...commandsOf({ sendCommand }, this.keyPrefix) };
    });
    return servers.sort((a, b) => (a.mark < b.mark ? -1 : 1));
  }
}

function isReadOnly(error: unknown): boolean {
  return error instanceof Error && isErrorReply(error) && error.message.startsWith("READONLY");
}

/** The reply to `CLUSTER SLOTS`: first and last slot, and the address of the primary. */
type Slots = readonly (readonly [
  first: number,
  last: number,
  primary: readonly [host: string, port: number],
])[];

function commandsOf(client: NodeRedisClient | Pick<ServerClient, "sendCommand">, prefix: string): Commands {
  const call = ({ words, keys = [], values = [] }: Command) => {
    const prefixed = keys.map((key) => prefix + key);
    const all = [...words, ...prefixed, ...values];
    return inTime((abortSignal) => {
      const options = { abortSignal };
      if (!("duplicate" in client)) return client.sendCommand(all, options);
      if (isCluster(client)) return client.sendCommand(prefixed[0], false, all, options);
      return isSentinel(client) ? client.sendCommand(false, all, options) : client.sendCommand(all, options);
    });
  };
  // Commands of the same turn are written together.
  return { call, pipeline: (commands) => Promise.all(commands.map(call)) };
}
