import { clientFrom, hostAndPort, REQUEST_TIMEOUT_MS } from "@scrollback/store-core/driver";
import { type Cluster, Redis, type RedisOptions } from "ioredis";
import { closedClient, isUnreachable, TIMED_OUT, withoutArguments } from "./errors.ts";
import { type RedisClient, targetOf } from "./options.ts";
import { refusePlainServer } from "./plain-server.ts";

const KEEP_ALIVE_MS = 10_000;
/** As long as store-core's longest pause between attempts, and short enough for several attempts within its 5 seconds. */
const LONGEST_WAIT_MS = 1_000;

/**
 * How each client behaves that the stores use: a command is sent at once or not at all, and once. So only one layer decides how long to retry,
 * store-core's, and a request that its caller gave up is never sent later.
 */
const behaviour = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
  stringNumbers: false,
  showFriendlyErrorStack: false,
  // Closing does not wait for an abandoned connection.
  disconnectTimeout: 0,
  // A loading server reports it in its replies. Without the check the ACL user needs neither INFO nor CLIENT.
  enableReadyCheck: false,
  disableClientInfo: true,
  retryStrategy: pauseBeforeReconnect,
  // The defaults of ioredis 6.
  protocol: 3,
  replyMapping: "legacy",
} as const satisfies RedisOptions;

type Request = readonly [command: string, ...words: string[]];

/** The connections on the settings of callers' clients, so that the factories on a client share one. They end with the caller's client. */
const shared = new WeakMap<RedisClient, Connection>();

/** A client of the stores' own, for a URL or with the settings of a caller's client. Connects with the first call. */
export class Connection {
  readonly client: RedisClient;
  /** The caller's client. */
  readonly #given: RedisClient | undefined;
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

  private constructor(client: RedisClient, given?: RedisClient) {
    this.client = client;
    this.#given = given;
    this.#requests = client.isCluster ? [] : requestsOf(client as Redis);
    this.#watch();
    given?.on("end", () => client.disconnect());
  }

  /** For a checked URL. */
  static to(url: string): Connection {
    return new Connection(clientFor(new URL(url)));
  }

  /**
   * For exactly one of a URL and a caller's client.
   *
   * @throws StoreError `INVALID_ARGUMENT` for both or none.
   */
  static of(url: string | undefined, client: RedisClient | undefined): Connection {
    const given = client && Connection.like(client);
    return clientFrom("createRedisStores", { url, client: given }, Connection.to).client;
  }

  /** With the settings of a caller's client, apart from what {@link behaviour} says. */
  static like(given: RedisClient): Connection {
    const known = shared.get(given);
    if (known) return known;
    const connection = new Connection(copyOf(given), given);
    shared.set(given, connection);
    return connection;
  }

  /** The server that the client connects to; for a cluster, the node that failed. */
  get server(): string | undefined {
    return this.#server;
  }

  /** Runs `send` on a connection that is open and was granted what the options ask for. */
  async run<T>(send: () => Promise<T>): Promise<T> {
    try {
      if (this.#given?.status === "end") throw closedClient(this.#error);
      // Awaited only if needed, because each await costs a turn of the microtask queue.
      const open = this.#open();
      if (open) await open;
      const granted = this.#grant();
      if (granted) await granted;
      return await send();
    } catch (error) {
      throw this.#afterFailure(error);
    }
  }

  /** Closes the connection, unless it belongs to the caller's client. */
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
    if (this.#requests.length === 0 || (status === "ready" && stream === this.#granted)) return;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const { stream } = this.client as Redis;
    await Promise.all(this.#requests.map(([command, ...words]) => this.client.call(command, words)));
    this.#granted = stream;
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

function clientFor(url: URL): Redis {
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const client: Redis = new Redis({
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1)),
    ...(username !== "" && { username }),
    ...(password !== "" && { password }),
    ...(url.protocol === "rediss:" && { tls: {} }),
    connectTimeout: REQUEST_TIMEOUT_MS,
    commandTimeout: REQUEST_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    ...behaviour,
    reconnectOnError: (error) => error.message.includes("READONLY") && isFirstRefusal(),
  });
  /**
   * The name of a server that became a replica may now lead to a new primary. All waiting calls are refused together: ioredis would close
   * the connection, and add a listener to it, for each of them.
   */
  let refused: unknown;
  const isFirstRefusal = () => {
    const isFirst = client.stream !== refused;
    refused = client.stream;
    return isFirst;
  };
  if (url.protocol === "rediss:") refusePlainServer(client);
  return client;
}

function copyOf(given: RedisClient): RedisClient {
  const commandTimeout = (theirs = 0) => Math.max(REQUEST_TIMEOUT_MS, theirs);
  if (!given.isCluster) {
    const { options } = given as Redis;
    return (given as Redis).duplicate({
      ...behaviour,
      commandTimeout: commandTimeout(options.commandTimeout),
    });
  }
  const { redisOptions = {} } = (given as Cluster).options;
  return (given as Cluster).duplicate([], {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    showFriendlyErrorStack: false,
    scaleReads: "master",
    // Else a command whose connection is lost would be sent again.
    retryDelayOnFailover: 0,
    clusterRetryStrategy: pauseBeforeReconnect,
    redisOptions: {
      ...redisOptions,
      ...behaviour,
      commandTimeout: commandTimeout(redisOptions.commandTimeout),
    },
  });
}

/** Short for about 5 seconds, while calls may be waiting, then longer. Jittered, because all clients reconnect at once. */
function pauseBeforeReconnect(attempt: number): number {
  const longest = attempt > 50 ? 2_000 : Math.min(200, 20 * 2 ** attempt);
  return longest * (0.5 + Math.random() / 2);
}

function requestsOf({ options }: Redis): Request[] {
  const { username, password, db, connectionName } = options;
  const requests: Request[] = [];
  if (password) requests.push(["auth", ...(username ? [username] : []), password]);
  if (db) requests.push(["select", String(db)]);
  if (connectionName) requests.push(["client", "setname", connectionName]);
  return requests;
}

/** The address of the server, or the addresses of its sentinels. */
function serverOf(client: Redis): string | undefined {
  const { server } = targetOf(client) ?? {};
  if (server) return hostAndPort(server.address, server.port);
  const { path, sentinels } = client.options ?? {};
  // With ioredis' default values.
  return (
    path ?? sentinels?.map(({ host = "localhost", port = 26_379 }) => hostAndPort(host, port)).join(", ")
  );
}
