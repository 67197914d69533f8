import { type DriverCapabilities, type DriverTarget, hostAndPort } from "@scrollback/store-core/driver";
import type { Command, Commands, Connection, OpenCommands } from "../connection.ts";
import { lostConnectionError, raise, replyError } from "../errors.ts";
import { inTime } from "../in-time.ts";
import { markOf } from "../topology.ts";

/** What the stores read of a `Redis` of `@upstash/redis`: how it reaches its database. */
export interface UpstashClient {
  readonly client: {
    /** What the service replied last: a read that sends it sees what was written before. */
    upstashSyncToken: string;
    readonly baseUrl: string;
    readonly headers: { readonly authorization: string };
    /** Settings of `fetch`. Some runtimes need `backend` or `agent`; `cache` keeps frameworks from storing replies. */
    readonly options: {
      readonly cache?: RequestInit["cache"];
      readonly agent?: unknown;
      readonly backend?: string;
    };
  };
}

/** A plan allows requests of 10 MB. A text in JSON is longer than the text, so these are less. */
const limits = Object.freeze({ maxMessageBytes: 4_195_328, maxCommitBytes: 8_390_656 });

/** The reply to a command. */
interface Reply {
  readonly result?: unknown;
  readonly error?: string;
}

/**
 * Sends commands to Upstash by HTTP, with the address and token of a client of `@upstash/redis`.
 *
 * The client itself sends a request again that was not replied to, also with `retry: false`, adds the command's arguments to errors, and
 * converts strings. So each request is sent here, once.
 */
export class UpstashConnection implements Connection {
  readonly isCluster = false;
  readonly keyPrefix = "";
  readonly target: DriverTarget;
  readonly server: string;
  readonly limits: Pick<DriverCapabilities, "maxMessageBytes" | "maxCommitBytes"> = limits;
  readonly #given: UpstashClient["client"];
  readonly #closed = new AbortController();

  constructor({ client }: UpstashClient) {
    const { hostname, port, protocol } = new URL(client.baseUrl);
    const address = { address: hostname, port: Number(port || (protocol === "http:" ? 80 : 443)) };
    this.#given = client;
    this.target = { namespace: "0", server: address };
    this.server = hostAndPort(address.address, address.port);
  }

  async run<T>(send: (commands: OpenCommands) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const commands: Commands = {
      call: async (command) => resultOf((await this.#post("", wordsOf(command), signal)) as Reply),
      pipeline: async (several) => {
        const replies: Reply | Reply[] = await this.#post("/pipeline", several.map(wordsOf), signal);
        return [replies].flat().map(resultOf);
      },
    };
    return await send({
      ...commands,
      servers: async () => [{ mark: markOf(""), hidesProcess: true, ...commands }],
    });
  }

  close(): void {
    this.#closed.abort();
  }

  #post(path: string, body: unknown, signal: AbortSignal | undefined): Promise<Reply | Reply[]> {
    return inTime(async (late) => {
      const signals = [this.#closed.signal, late, ...(signal ? [signal] : [])];
      const { status, text } = await this.#fetch(path, body, AbortSignal.any(signals));
      const reply = parsed(text);
      if (status === 200 && reply) return reply;
      throw replyError(reply?.error ?? `HTTP status ${status}`, status);
    });
  }

  async #fetch(path: string, body: unknown, signal: AbortSignal): Promise<{ status: number; text: string }> {
    const { baseUrl, headers, options } = this.#given;
    const { cache, agent, backend } = options;
    try {
      const response = await fetch(baseUrl + path, {
        ...(cache && { cache }),
        ...{ agent, backend },
        method: "POST",
        headers: {
          authorization: headers.authorization,
          "content-type": "application/json",
          "upstash-sync-token": this.#given.upstashSyncToken,
        },
        body: JSON.stringify(body),
        // Else a server could have the command sent again.
        redirect: "manual",
        signal,
      });
      const text = await response.text();
      this.#given.upstashSyncToken = response.headers.get("upstash-sync-token") ?? "";
      return { status: response.status, text };
    } catch (cause) {
      throw lostConnectionError(cause);
    }
  }
}

function wordsOf({ words, keys = [], values = [] }: Command): string[] {
  return [...words, ...keys, ...values];
}

function parsed(text: string): Reply | undefined {
  try {
    const reply: unknown = JSON.parse(text);
    return typeof reply === "object" && reply !== null ? reply : undefined;
  } catch {
    return undefined;
  }
}

function resultOf({ result, error }: Reply): unknown {
  if (error !== undefined) raise(replyError(error));
  // What another server than Upstash's replied.
  return result === undefined ? raise(replyError("HTTP status 200", 200)) : result;
}
