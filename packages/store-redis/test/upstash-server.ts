import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis as Upstash } from "@upstash/redis";
import { Redis } from "ioredis";

/** How a server refuses or forgets. */
interface Behaviour {
  /** A larger request is refused, as by Upstash's plans. Default: 10 MB. */
  readonly maxRequestBytes?: number;
}

/** A request as it arrived. */
interface Received {
  readonly path: string | undefined;
  readonly syncToken: string | string[] | undefined;
}

export const TOKEN = "hunter2";
const MAX_REQUEST_BYTES = 10_000_000;
/**
 * Of so many `EVALSHA` that come directly one is answered as by a server that has forgotten the script. Through a proxy none is: the reply
 * that it loses is then that of the script.
 */
const FORGETS_EVERY = 5;
/** What a service need not reply to. */
const REFUSED = new Set(["INFO", "CONFIG", "CLIENT", "CLUSTER", "SELECT"]);

/**
 * A server on 127.0.0.1 that speaks the protocol of Upstash's REST API in front of Redis: `POST /` for a command and `POST /pipeline` for
 * several, not as one transaction.
 */
export class UpstashServer {
  readonly #redis: Redis;
  readonly #maxRequestBytes: number;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => response.destroy());
  });
  readonly #received: Received[] = [];
  #evaluated = 0;
  #writes = 0;
  /** The HTTP status and body of all replies, in place of the real ones. */
  reply: { readonly status: number; readonly body: string } | undefined;

  private constructor(redisUrl: string, { maxRequestBytes = MAX_REQUEST_BYTES }: Behaviour) {
    this.#redis = new Redis(redisUrl);
    this.#redis.on("error", () => undefined);
    this.#maxRequestBytes = maxRequestBytes;
  }

  static async start(redisUrl: string, behaviour: Behaviour = {}): Promise<UpstashServer> {
    const started = new UpstashServer(redisUrl, behaviour);
    started.#server.listen(0, "127.0.0.1");
    await once(started.#server, "listening");
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The newest requests. */
  get received(): readonly Received[] {
    return this.#received;
  }

  async stop(): Promise<void> {
    this.#redis.disconnect();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    this.#received.push({ path: request.url, syncToken: request.headers["upstash-sync-token"] });
    this.#received.splice(0, this.#received.length - 100);
    const send = (status: number, reply: unknown) => {
      const text = typeof reply === "string" ? reply : JSON.stringify(reply);
      response.writeHead(status, {
        "content-type": "application/json",
        "upstash-sync-token": `token-${++this.#writes}`,
      });
      response.end(text);
    };
    if (this.reply) return send(this.reply.status, this.reply.body);
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return send(401, { error: "WRONGPASS invalid or missing auth token" });
    if (body.length > this.#maxRequestBytes) {
      const sizes = `Limit: ${this.#maxRequestBytes} bytes, Actual: ${body.length} bytes`;
      return send(400, { error: `ERR max request size exceeded. ${sizes}` });
    }
    const isBase64 = request.headers["upstash-encoding"] === "base64";
    const isDirect = request.headers.host === new URL(this.url).host;
    const words: unknown = JSON.parse(body.toString());
    if (request.url === "/pipeline") {
      const replies = (words as string[][]).map((command) => this.#run(command, isBase64, isDirect));
      return send(200, await Promise.all(replies));
    }
    const reply = await this.#run(words as string[], isBase64, isDirect);
    send("error" in reply ? 400 : 200, reply);
  }

  async #run([name = "", ...words]: string[], isBase64: boolean, isDirect: boolean): Promise<object> {
    const command = name.toUpperCase();
    if (REFUSED.has(command)) return { error: `ERR Command is not available: '${name}'` };
    if (command === "EVALSHA" && isDirect && ++this.#evaluated % FORGETS_EVERY === 0)
      return { error: "NOSCRIPT No matching script. Please use EVAL." };
    try {
      return { result: encoded(await this.#redis.callBuffer(name, words), isBase64) };
    } catch (error) {
      return { error: (error as Error).message };
    }
  }
}

function encoded(value: unknown, isBase64: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => encoded(one, isBase64));
  if (!Buffer.isBuffer(value)) return value;
  const text = value.toString();
  return isBase64 && text !== "OK" ? value.toString("base64") : text;
}

/** A client of a {@link UpstashServer}, with the options that it has by default. */
export function upstashClient(url: string, options: object = {}): Upstash {
  return new Upstash({ url, token: TOKEN, ...options });
}
