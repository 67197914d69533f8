import type { Redis } from "ioredis";
import { isErrorReply } from "./errors.ts";
import type { RedisClient } from "./options.ts";

type Request = readonly [command: string, ...words: string[]];

const PING: Request = ["ping"];

/**
 * Checks the login, the database and the name of each new connection before anything else is sent on it. ioredis requests
 * these itself, but continues after a refusal, for example in database 0. So they are requested again on each new
 * connection, in one round trip, and the waiting calls fail with the refusal.
 *
 * On a factory's own connection without these options it sends a PING. ioredis keeps commands until a connection is ready, and then
 * sends them even if their callers have aborted. A PING may come late; a deletion may not, because others may have written since.
 *
 * Nothing is requested for a caller's client without these options, or for a cluster, which has no databases.
 */
export class Handshake {
  readonly #client: RedisClient;
  readonly #requests: readonly Request[];
  /** The connection that was granted all requests. */
  #granted: unknown;
  #asking: Promise<void> | undefined;

  /** @param owned whether the credentials in the client's options are valid as long as the client is used. */
  constructor(client: RedisClient, owned: boolean) {
    this.#client = client;
    this.#requests = client.isCluster ? [] : requestsOf(client as Redis, owned);
  }

  /**
   * Returns undefined if the current connection was granted all requests. A command that is sent in the same turn of the
   * event loop, or in the turn in which the promise resolves, goes to that connection or fails with it.
   *
   * @throws the server's refusal.
   */
  ensure(): Promise<void> | undefined {
    const { status, stream } = this.#client as Redis;
    if (this.#requests.length === 0 || (status === "ready" && stream === this.#granted)) return;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    await Promise.all(this.#requests.map((request) => this.#send(request)));
    this.#granted = (this.#client as Redis).stream;
  }

  async #send(request: Request): Promise<void> {
    const [command, ...words] = request;
    try {
      await this.#client.call(command, words);
    } catch (error) {
      // Any reply shows that the connection is ready; the user may lack the permission.
      if (request !== PING || !isErrorReply(error)) throw error;
    }
  }
}

function requestsOf({ options }: Redis, owned: boolean): Request[] {
  const { username, password, db, connectionName } = options;
  const requests: Request[] = [];
  // The credentials of a caller's client may have expired since it connected.
  if (owned && password) requests.push(["auth", ...(username ? [username] : []), password]);
  if (db) requests.push(["select", String(db)]);
  if (connectionName) requests.push(["client", "setname", connectionName]);
  return owned && requests.length === 0 ? [PING] : requests;
}
