import type { Driver } from "@scrollback/store-core";
import type { TcpProxy } from "./tcp-proxy.ts";

/** What a backend runs on, for the matrix: `{ product: "Redis", version: "8.0.6" }`. */
export interface ServerInfo {
  readonly product: string;
  readonly version: string;
}

/**
 * One backend set up for one test: a driver on a namespace that nothing else uses, and the ways that the suite has to
 * look behind it. What is left out stands for what the backend has not (a file has no network to cut), and the suite
 * leaves out the tests that need it; the matrix says so.
 */
export interface Harness {
  /** A driver on the fresh namespace. */
  readonly driver: Driver;
  readonly server: ServerInfo;
  /**
   * A second, independent client on the same namespace, as another process would have. Required unless
   * `capabilities.sharing` is `"driver"`. The suite closes it.
   */
  connect?(): Driver;
  /** How another process makes such a client. Required unless `capabilities.sharing` is `"driver"`. */
  readonly childProcess?: {
    /**
     * A module whose export `connect(data)` gives a driver on the namespace that `data` tells of. A bare Node.js imports
     * it, several times in a test: keep it a file of its own that imports the adapter and nothing of the suite.
     */
    readonly module: URL;
    /** Anything that JSON carries. */
    readonly data: unknown;
  };
  /** A reader and writer behind the driver's back, with its own client. Required. */
  readonly raw: RawAccess;
  /** How many requests `driver` has sent to the backend so far. Required where `capabilities.roundTrips` are not 0. */
  requestCount?(): number;
  /** What must stand in no error message and no state: passwords, keys. Default none. */
  readonly secrets?: readonly string[];
  /** A client whose connection goes through a proxy that can break it. For backends with a network. */
  readonly faults?: FaultyConnection;
  /** Drops the namespace and closes what the harness opened, `driver` included. */
  close(): Promise<void>;
}

/** Access to what is stored, not through the driver. */
export interface RawAccess {
  /**
   * Everything that is physically stored of a thread (keys or columns aside), expired, trimmed and deleted content included,
   * and what is remembered of a deleted thread; `""` where nothing is.
   */
  dump(threadId: string): Promise<string>;
  /** Puts `record` in the place of the record of message `sequence`, which must exist. */
  plant(threadId: string, sequence: number, record: string): Promise<void>;
}

/** A driver whose connection goes through a proxy. */
export interface FaultyConnection {
  /** A new driver on the same namespace through the proxy. The suite closes it. */
  connect(): Driver;
  readonly proxy: TcpProxy;
  /** How another process makes such a driver, as {@link Harness.childProcess}. Without it only this process goes through the proxy. */
  readonly childProcess?: NonNullable<Harness["childProcess"]>;
  /**
   * Ends the server with SIGKILL and starts it again. Only for a server that this harness alone uses, and that is set up to
   * keep over a crash all that it acknowledged.
   */
  crash?(): Promise<void>;
}

/** What {@link runConformance} takes. */
export interface ConformanceOptions {
  /** The column of the matrix, e.g. `"Redis Cluster"`. */
  readonly name: string;
  /** Makes a harness on a fresh namespace. Called once for each group of tests; must be quick. */
  createHarness(): Promise<Harness>;
}
