import {
  type DriverTarget,
  hasMethods,
  hostAndPort,
  REQUEST_TIMEOUT_MS,
} from "@scrollback/store-core/driver";

interface Socket {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
}

/** The options of a client or of a cluster's nodes, apart from those that are passed on unread. */
interface Options {
  readonly database?: number;
  readonly socket?: Socket;
  readonly defaults?: { readonly socket?: object };
  readonly rootNodes?: readonly Pick<Options, "socket">[];
}

interface SendOptions {
  readonly abortSignal: AbortSignal;
}

/** What versions 5 and 6 of node-redis have in common, as far as the stores use it. */
interface Client {
  on(event: string, listener: (error: unknown, node: { host: string; port: number }) => void): unknown;
  connect(): Promise<unknown>;
  /** Throws, or rejects, if the client is not open. */
  destroy(): unknown;
  duplicate(overrides: object): NodeRedisClient;
}

/** A client for a server, or for a node of a cluster. */
export interface ServerClient extends Client {
  readonly options?: Options;
  sendCommand(words: readonly string[], options: SendOptions): Promise<unknown>;
}

/** A client of `createCluster`. */
export interface ClusterClient extends Client {
  readonly _options?: Options;
  readonly masters: readonly { readonly address: string }[];
  nodeClient(master: { readonly address: string }): Promise<ServerClient> | ServerClient;
  sendCommand(
    firstKey: string | undefined,
    isReadonly: false,
    words: readonly string[],
    options: SendOptions,
  ): Promise<unknown>;
}

/** A client of `createSentinel`. */
export interface SentinelClient extends Client {
  /** Begins with the address of the first sentinel, and a slash. */
  readonly identity?: { readonly id: string };
  getMasterNode(): unknown;
  sendCommand(isReadonly: false, words: readonly string[], options: SendOptions): Promise<unknown>;
}

export type NodeRedisClient = ServerClient | ClusterClient | SentinelClient;

export function isCluster(client: NodeRedisClient): client is ClusterClient {
  return hasMethods("nodeClient")(client) === undefined;
}

export function isSentinel(client: NodeRedisClient): client is SentinelClient {
  return hasMethods("getMasterNode")(client) === undefined;
}

/** A client that waits for its connection without sending a command, reports each loss, and never connects again. */
const behaviour = {
  disableOfflineQueue: true,
  // A loading server reports it in its replies; the ACL user needs no permission for CLIENT.
  disableClientInfo: true,
  maintNotifications: "disabled",
  commandOptions: { timeout: 0 },
  readonly: false,
  pingInterval: 0,
};
/** The option of sockets. A lost client is replaced as a whole, by one place that decides when. */
const socket = { reconnectStrategy: false };

/** A client with the settings of a caller's client, which sends a command at once or not at all, and once. */
export function copyOf(given: NodeRedisClient): NodeRedisClient {
  if (isCluster(given)) {
    const { defaults } = given._options ?? {};
    return given.duplicate({
      commandOptions: behaviour.commandOptions,
      // Else one node that is down would keep the others from being used.
      minimizeConnections: true,
      useReplicas: false,
      defaults: { ...defaults, ...behaviour, socket: { ...defaults?.socket, ...socket } },
    });
  }
  // Else a command whose connection is lost would be sent again. The options of its nodes cannot be read, so they stay.
  if (isSentinel(given))
    return given.duplicate({
      commandOptions: behaviour.commandOptions,
      maxCommandRediscovers: 0,
      replicaPoolSize: 0,
      // Else each command waits until a client of the pool is free.
      reserveClient: true,
    });
  return given.duplicate({
    ...behaviour,
    clientSideCache: undefined,
    emitInvalidate: false,
    socket: { ...given.options?.socket, ...socket },
  });
}

/** The options of a client for a URL. */
export function optionsFor(url: URL): { url: string; socket: { connectTimeout: number } } {
  return { url: url.href, socket: { connectTimeout: REQUEST_TIMEOUT_MS } };
}

/** The address of the server, of the first sentinel or of the nodes from which a cluster is found. */
export function serverOf(given: NodeRedisClient): string | undefined {
  if (isSentinel(given)) return /^(.+:\d+)\//.exec(given.identity?.id ?? "")?.[1];
  if (!isCluster(given)) return addressOf(given.options?.socket);
  return given._options?.rootNodes?.map(({ socket }) => addressOf(socket)).join(", ");
}

function addressOf({ host = "localhost", port = 6379, path }: Socket = {}): string {
  return path ?? hostAndPort(host, port);
}

export function targetOf(given: NodeRedisClient): DriverTarget | undefined {
  if (isCluster(given)) return undefined;
  if (isSentinel(given)) return {};
  const { database = 0, socket: { host = "localhost", port = 6379, path } = {} } = given.options ?? {};
  return {
    namespace: String(database),
    ...(path === undefined && { server: { address: host, port } }),
  };
}
