import type { Redis } from "ioredis";
import type { RedisClient } from "./options.ts";

type Request = readonly [command: string, ...words: string[]];

/**
 * What a client's connections must have been granted before anything else is sent on them: the login, the database and the
 * name. ioredis asks for these itself and goes on where it is refused, in database 0 for one. So they are asked for once more
 * on each new connection, in one round trip, and a refusal is the outcome of the calls that wait for it. Of a client that asks
 * for none of them, and of a cluster, which has no databases, nothing is asked.
 */
export class Handshake {
  readonly #client: RedisClient;
  readonly #requests: readonly Request[];
  /** The connection that was granted all of it. */
  #granted: unknown;
  #asking: Promise<void> | undefined;

  /** @param owned whether the credentials of the client's options hold for as long as the client does. */
  constructor(client: RedisClient, owned: boolean) {
    this.#client = client;
    this.#requests = client.isCluster ? [] : requestsOf(client as Redis, owned);
  }

  /**
   * Undefined when the present connection was granted all of it. A command that is sent in the same turn of the event loop,
   * or that in which the promise resolves, goes to that connection or fails with it.
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
    await Promise.all(this.#requests.map(([command, ...words]) => this.#client.call(command, words)));
    this.#granted = (this.#client as Redis).stream;
  }
}

function requestsOf({ options }: Redis, owned: boolean): Request[] {
  const { username, password, db, connectionName } = options;
  const requests: Request[] = [];
  // Those of a client that was handed in may have expired since its connection was made.
  if (owned && password) requests.push(["auth", ...(username ? [username] : []), password]);
  if (db) requests.push(["select", String(db)]);
  if (connectionName) requests.push(["client", "setname", connectionName]);
  return requests;
}
