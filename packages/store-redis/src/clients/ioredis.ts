import type { DriverTarget } from "@scrollback/store-core/driver";
import type { Cluster, Redis } from "ioredis";
import type { Command, Commands, Connection, OpenCommands, Server } from "../connection.ts";
import { askFor, type CredentialsProvider, isRefusedLogin } from "../credentials.ts";
import { closedClient, isUnreachable, raise, TIMED_OUT, withoutArguments } from "../errors.ts";
import { markOf } from "../topology.ts";
import {
  clientFor,
  copyOf,
  type IoredisClient,
  LONGEST_WAIT_MS,
  serverOf,
  targetOf,
} from "./ioredis-options.ts";

type Request = readonly [command: string, ...words: string[]];

/** A connection by ioredis 5 or 6, or by iovalkey. */
export class IoredisConnection implements Connection {
  /** The stores' own client, for a URL or with the settings of a caller's client. */
  readonly client: IoredisClient;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
  readonly target: DriverTarget | undefined;
  readonly #commands: OpenCommands;
  /** The caller's client. */
  readonly #given: IoredisClient | undefined;
  /** What each new connection must grant before anything else is sent on it. */
  readonly #requests: readonly Request[];
  /** The last connection error since it was connected. The errors of commands do not contain the reason. */
  #error: unknown;
  #server: string | undefined;
  #waiting: Promise<void> | undefined;
  /** The connection that was granted all requests. */
  #granted: unknown;
  #asking: Promise<void> | undefined;
  /** The connection that was closed because it did not reply. */
  #silent: unknown;

  readonly #credentials: CredentialsProvider | undefined;

  private constructor(client: IoredisClient, given?: IoredisClient, credentials?: CredentialsProvider) {
    this.#credentials = credentials;
    this.client = client;
    this.isCluster = client.isCluster;
    this.keyPrefix = client.options.keyPrefix ?? "";
    this.target = targetOf(client);
    this.#commands = { ...commandsOf(client as Redis), servers: () => serversOf(client) };
    this.#given = given;
    this.#requests = client.isCluster ? [] : requestsOf(client as Redis);
    this.#watch();
    given?.on("end", () => client.disconnect());
  }

  /** For a checked URL, by ioredis' `Redis`. */
  static to(url: URL, Client: typeof Redis, credentials?: CredentialsProvider): IoredisConnection {
    return new IoredisConnection(clientFor(url, Client, credentials !== undefined), undefined, credentials);
  }

  /** With the settings of a caller's client, apart from how commands are sent. */
  static like(given: IoredisClient): IoredisConnection {
    return new IoredisConnection(copyOf(given), given);
  }

  get server(): string | undefined {
    return this.#server;
  }

  async run<T>(send: (commands: OpenCommands) => Promise<T>): Promise<T> {
    try {
      if (this.#given?.status === "end") throw closedClient(this.#error);
      // Awaited only if needed, because each await costs a turn of the microtask queue.
      const open = this.#open();
      if (open) await open;
      const granted = this.#grant();
      if (granted) await granted;
      return await send(this.#commands);
    } catch (error) {
      throw this.#afterFailure(error);
    }
  }

  close(): void {
    if (!this.#given) this.client.disconnect();
  }

  /**
   * Waits for at most 1 s until the client is connected: attempts at random times would miss the short periods in which a bad
   * connection works.
   *
   * A cluster rejects commands until it has loaded its slots from a node. Then it connects to a node with the first command. It
   * sends further commands to random nodes meanwhile, and with a `natMap` their redirections do not lead it to the right node.
   */
  #open(): Promise<void> | undefined {
    if (this.#waiting || this.client.status === "ready") return this.#waiting;
    this.#waiting = this.#ready().finally(() => {
      this.#waiting = undefined;
    });
    return this.#waiting;
  }

  async #ready(): Promise<void> {
    const { client } = this;
    const isEnded = client.status === "end" && this.#given;
    if (client.status === "wait" || isEnded) client.connect().catch(() => undefined);
    await new Promise<void>((resolve) => {
      const connecting = new Set<Redis>();
      const finish = () => {
        clearTimeout(timer);
        client.off("ready", onReady).off("end", finish);
        for (const node of connecting) node.off("ready", onReady);
        resolve();
      };
      const onReady = () => {
        const nodes = client.isCluster ? (client as Cluster).nodes("master") : [];
        const missing = nodes.filter(({ status }) => status !== "ready");
        if (missing.length === 0) return finish();
        for (const node of missing) {
          if (!connecting.has(node)) node.on("ready", onReady);
          connecting.add(node);
          if (node.status === "wait") node.connect().catch(() => undefined);
        }
      };
      const timer = setTimeout(finish, LONGEST_WAIT_MS);
      client.on("ready", onReady).on("end", finish);
    });
  }

  /**
   * Checks the login, the database and the name of each new connection. ioredis requests these itself, but continues after a
   * refusal, for example in database 0. So they are requested again, in one round trip, and the waiting calls fail with the refusal.
   * Nothing is requested without these options, or for a cluster, which has no databases.
   */
  #grant(): Promise<void> | undefined {
    const { status, stream } = this.client as Redis;
    const isFree = this.#requests.length === 0 && this.#credentials === undefined;
    if (isFree || (status === "ready" && stream === this.#granted)) return;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const { stream } = this.client as Redis;
    try {
      await this.#request();
    } catch (error) {
      // The password may have changed since the provider was asked.
      if (this.#credentials === undefined || !isRefusedLogin(error)) throw error;
      await this.#request();
    }
    this.#granted = stream;
  }

  async #request(): Promise<void> {
    const login = this.#credentials && loginOf(await askFor(this.#credentials));
    const requests = login ? [login, ...this.#requests] : this.#requests;
    await Promise.all(requests.map(([command, ...words]) => this.client.call(command, words)));
  }

  #watch(): void {
    const { client } = this;
    const server = client.isCluster ? undefined : serverOf(client as Redis);
    this.#server = server;
    client.on("error", (error: unknown) => {
      this.#error = withoutArguments(error);
    });
    // The cluster's own error only says that no node could be reached.
    if (client.isCluster)
      (client as Cluster).on("node error", (error: unknown, node: string) => {
        this.#error = withoutArguments(error);
        this.#server = node;
      });
    client.on("ready", () => {
      this.#error = undefined;
      this.#server = server;
    });
  }

  #afterFailure(error: unknown): unknown {
    if (!isUnreachable(error)) return withoutArguments(error);
    if (error.message === TIMED_OUT && !this.client.isCluster) {
      // A silent connection may never report its end, so the next attempt uses a new one.
      this.#error = withoutArguments(error);
      const { stream } = this.client as Redis;
      // All its calls time out together.
      if (stream !== this.#silent) this.client.disconnect(true);
      this.#silent = stream;
    } else if (error !== this.#error) {
      error.cause ??= this.#error;
    }
    return withoutArguments(error);
  }
}

function requestsOf({ options }: Redis): Request[] {
  const { username, password, db, connectionName } = options;
  const requests: Request[] = [];
  if (password) requests.push(loginOf({ username, password }));
  if (db) requests.push(["select", String(db)]);
  if (connectionName) requests.push(["client", "setname", connectionName]);
  return requests;
}

function loginOf({
  username,
  password,
}: {
  username?: string | null | undefined;
  password: string;
}): Request {
  return ["auth", ...(username ? [username] : []), password];
}

/** The commands of a client for a server. Those of a cluster differ only in types. */
function commandsOf(client: Redis): Commands {
  return {
    call({ words: [name = "", ...words], keys = [], values = [] }) {
      // One array instead of one parameter per value: a call with 100,000 parameters overflows the stack.
      return client.call(name, [...words, ...keys, ...values]);
    },
    async pipeline(commands) {
      const replies = await client.pipeline(commands.map(wordsOf)).exec();
      return (replies ?? []).map(([error, reply]) => (error ? raise(error) : reply));
    },
  };
}

function wordsOf({ words, keys = [], values = [] }: Command): string[] {
  return [...words, ...keys, ...values];
}

async function serversOf(client: IoredisClient): Promise<Server[]> {
  if (!client.isCluster) return [{ mark: markOf(""), ...commandsOf(client as Redis) }];
  const cluster = client as Cluster;
  // Like every command, this one connects a lazy client, or waits until it is connected.
  if (cluster.status !== "ready") await cluster.cluster("SLOTS");
  // ioredis learns about a new node when a command is redirected to it, but SCAN is never redirected.
  await new Promise<void>((resolve, reject) => {
    cluster.refreshSlotsCache((error) => (error ? reject(error) : resolve()));
  });
  const servers = cluster
    .nodes("master")
    .map((node) => ({ mark: markOf(`${node.options.host}:${node.options.port}`), ...commandsOf(node) }));
  return servers.sort((a, b) => (a.mark < b.mark ? -1 : 1));
}
