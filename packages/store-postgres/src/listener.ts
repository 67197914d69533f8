import { PendingCalls } from "@scrollback/store-core/driver";
import { Client, type Pool } from "pg";
import { isPglite, type PgliteClient, type PostgresSchema } from "./options.ts";
import { askPglite, configOf, type Rows, type Value } from "./sessions.ts";

/** The channel of all schemas. 006-watch.sql names it too. */
const CHANNEL = "scrollback";

/** What a listener reports. */
export interface ListenerEvents {
  /** Called with the payload of each notification. */
  onNotification(payload: string): void;
  /** Called when the connection is lost or was closed, perhaps several times. */
  onEnd(): void;
}

/** A connection that listens for notifications. */
export interface Listener {
  /** Connects and begins to listen. Called first. Does not settle if the server hangs. */
  open(): Promise<void>;
  query(text: string, values: readonly Value[]): Promise<Rows>;
  /** Closes the connection at once, also while it opens. */
  close(): Promise<void>;
}

export type OpenListener = (events: ListenerEvents) => Listener;

/** The listeners for stores with the option `listen`; undefined without it. */
export function listenersOf({ client, listen }: PostgresSchema): OpenListener | undefined {
  if (!listen) return undefined;
  if (isPglite(client)) return (events) => new PgliteListener(client, events);
  return (events) => new PgListener(connectionOf(client, listen), events);
}

/** A connection with the options of the stores' pool, or to a URL. It does not connect yet. */
function connectionOf(client: object, listen: true | string): Client {
  if (listen !== true) return new Client({ connectionString: listen, keepAlive: true });
  const { options } = client as Pool;
  // A package with the API of pg has another class. The options are not copied, as the password is hidden from copies.
  const PoolsClient = Reflect.get(client, "Client") as typeof Client | undefined;
  return new (PoolsClient ?? Client)(options);
}

class PgListener implements Listener {
  readonly #client: Client;

  constructor(client: Client, { onNotification, onEnd }: ListenerEvents) {
    this.#client = client;
    client.on("notification", ({ payload }) => onNotification(payload ?? ""));
    client.on("error", onEnd);
    client.on("end", onEnd);
  }

  async open(): Promise<void> {
    await this.#client.connect();
    this.#unref();
    await this.#client.query(`LISTEN ${CHANNEL}`);
  }

  async query(text: string, values: readonly Value[]): Promise<Rows> {
    return (await this.#client.query<(string | null)[]>(configOf(text, values))).rows;
  }

  async close(): Promise<void> {
    await PendingCalls.disconnectInTime(() => this.#client.end());
    // A server that hangs has not closed it.
    this.#client.connection.stream.destroy();
  }

  /** A connection that waits for notifications must not keep the process alive. */
  #unref(): void {
    const { unref } = this.#client as Client & { unref?: () => void };
    unref?.call(this.#client);
  }
}

/** A PGlite delivers notifications within the process. */
class PgliteListener implements Listener {
  readonly #client: PgliteClient;
  readonly #events: ListenerEvents;
  #stop: Promise<(() => Promise<void>) | undefined> | undefined;

  constructor(client: PgliteClient, events: ListenerEvents) {
    this.#client = client;
    this.#events = events;
  }

  async open(): Promise<void> {
    const listening = this.#client.listen?.(CHANNEL, this.#events.onNotification);
    this.#stop = listening;
    await listening;
  }

  async query(text: string, values: readonly Value[]): Promise<Rows> {
    return await askPglite(this.#client, text, values);
  }

  async close(): Promise<void> {
    // A transaction on the PGlite may hold up both.
    await PendingCalls.disconnectInTime(async () => (await this.#stop)?.());
  }
}
