import type { Driver, MessageRecord } from "@scrollback/store-core/driver";
import type { TcpProxy } from "./proxy/tcp-proxy.ts";

/** The server of a backend, for the matrix: `{ product: "Redis", version: "8.0.6" }`. */
export interface ServerInfo {
  readonly product: string;
  readonly version: string;
}

/**
 * One backend, set up for one test: a driver on a namespace of its own, and the suite's direct access to the backend.
 * Leave out what the backend does not have (a file has no network to cut). The suite then skips the tests that need it,
 * and the matrix says so.
 */
export interface Harness {
  /** A driver on the new namespace. */
  readonly driver: Driver;
  readonly server: ServerInfo;
  /**
   * Opens a second, independent client on the same namespace, like that of another process. Required unless
   * `capabilities.sharing` is `"driver"`. The suite closes it.
   */
  connect?(): Driver;
  /** The description from which another process opens such a client. Required unless `capabilities.sharing` is `"driver"`. */
  readonly childProcess?: {
    /**
     * A module whose export `connect(data)` returns a driver on the namespace of `data`. Plain Node.js processes import
     * it several times in a test. Keep it in a separate file that imports the adapter and nothing of the suite.
     */
    readonly module: URL;
    /** Any JSON value. */
    readonly data: unknown;
  };
  /** Reads and writes the backend directly, with its own client. Required. */
  readonly raw: RawAccess;
  /** The number of requests that `driver` has sent to the backend. Required if `capabilities.roundTrips` are not 0. */
  requestCount?(): number;
  /** Strings that no error message and no state may contain: passwords, keys. Default: none. */
  readonly secrets?: readonly string[];
  /** A client whose connection passes a proxy that can break it. For network backends. */
  readonly faults?: FaultyConnection;
  /** Drops the namespace and closes what the harness opened, `driver` included. */
  close(): Promise<void>;
}

/** Access to the stored data that bypasses the driver. */
interface RawAccess {
  /**
   * Returns everything that is physically stored of a thread (except keys or columns), including expired, trimmed and
   * deleted content and the remembered ids of a deleted thread; `""` if nothing is stored.
   */
  dump(threadId: string): Promise<string>;
  /**
   * Returns everything that is physically stored of the entries of an index; `""` if nothing is stored. Required if the driver has an
   * index.
   */
  dumpIndex?(index: string): Promise<string>;
  /** Replaces the stored message `sequence`, which must exist. */
  plant(threadId: string, sequence: number, message: PlantedMessage): Promise<void>;
}

/** A message as the suite plants it: of any kind, time and text, so that it may be damaged. */
export interface PlantedMessage extends Omit<MessageRecord, "kind"> {
  /** One character. */
  readonly kind: string;
}

/** A driver whose connection passes a proxy. */
export interface FaultyConnection {
  /** Opens a driver on the same namespace through the proxy. The suite closes it. */
  connect(): Driver;
  readonly proxy: TcpProxy;
  /**
   * The description from which another process opens such a driver, like {@link Harness.childProcess}. Without it only
   * this process uses the proxy.
   */
  readonly childProcess?: NonNullable<Harness["childProcess"]>;
}

/** The options of {@link runConformance}. */
export interface ConformanceOptions {
  /** The column of the matrix, e.g. `"Redis Cluster"`. */
  readonly name: string;
  /** Makes a harness on a new namespace. Called once for each group of tests; must be fast. */
  createHarness(): Promise<Harness>;
}
