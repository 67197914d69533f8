import type { DriverCapabilities, DriverTarget } from "@scrollback/store-core/driver";

/** A command in three parts. */
export interface Command {
  /** The name, and the words before the keys. */
  readonly words: readonly string[];
  /** Without the prefix of the client's own. The first one decides which node of a cluster gets the command. */
  readonly keys?: readonly string[];
  /** The words after the keys. */
  readonly values?: readonly string[];
}

/** Sends commands: each at once or not at all, and once. */
export interface Commands {
  call(command: Command): Promise<unknown>;
  /** Sends commands in one request on one connection. Never called for a cluster. */
  pipeline(commands: readonly Command[]): Promise<unknown[]>;
}

/** A server that holds threads. */
export interface Server extends Commands {
  /** Identifies the server without its address. */
  readonly mark: string;
  /** The server may refuse `INFO`, and it is assumed that its `SCAN` cursors are still valid when its process changes. */
  readonly hidesProcess?: true;
}

/** What {@link Connection.run} gives: commands on a connection that is open. */
export interface OpenCommands extends Commands {
  /** Returns the current primaries of a cluster, or the one server, in the order of their marks. */
  servers(): Promise<readonly Server[]>;
}

/** A connection of the stores' own, which connects with the first call. One class for each family of clients. */
export interface Connection {
  readonly isCluster: boolean;
  /** The prefix that the client puts in front of every key. */
  readonly keyPrefix: string;
  /** The database and the server. A cluster has neither. With Sentinel or a socket there is no server address. */
  readonly target: DriverTarget | undefined;
  /** The server that the client connects to, for errors; for a cluster, the node that failed. */
  readonly server: string | undefined;
  /** Limits of the service. Absent: those of Redis. */
  readonly limits?: Pick<DriverCapabilities, "maxMessageBytes" | "maxCommitBytes">;
  /**
   * Runs `send` on a connection that is open, and has the login and the database of the options.
   *
   * @param signal keeps commands from being sent that wait for their own connection, as over HTTP.
   */
  run<T>(send: (commands: OpenCommands) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Closes the connection, unless it is shared by all factories on the caller's client. */
  close(): void;
}
