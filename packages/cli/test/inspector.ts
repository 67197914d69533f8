import { request } from "node:http";
import { Readable } from "node:stream";
import { runCli } from "../src/index.ts";
import { Collector, type RunOptions } from "./run.ts";

/** The response to a request. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
}

/** `scrollback ui`, as a browser on this machine reaches it. */
export class RunningInspector implements AsyncDisposable {
  /** The URL with the token. */
  readonly url: string;
  readonly #ending: AbortController;
  readonly #running: Promise<number>;
  readonly #cookies = new Map<string, string>();

  constructor(url: string, ending: AbortController, running: Promise<number>) {
    this.url = url;
    this.#ending = ending;
    this.#running = running;
  }

  get origin(): string {
    return new URL(this.url).origin;
  }

  get host(): string {
    return new URL(this.url).host;
  }

  /** The cookie of the browser that has opened the URL. */
  async cookie(): Promise<string> {
    const known = this.#cookies.get(this.url);
    if (known !== undefined) return known;
    const { headers } = await this.send(new URL(this.url).pathname + new URL(this.url).search);
    const [cookie = ""] = String(headers["set-cookie"]).split(";");
    this.#cookies.set(this.url, cookie);
    return cookie;
  }

  /** Sends a request as it is. */
  send(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Reply> {
    const { hostname, port } = new URL(this.url);
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const bytes = Buffer.concat(chunks);
          const { statusCode: status = 0, headers: found } = response;
          resolve({ status, headers: found, bytes, text: bytes.toString() });
        });
      });
      sent.on("error", reject);
      sent.end();
    });
  }

  /** Reads from the API, with the cookie. */
  async reply(path: string, query: Record<string, string | number> = {}): Promise<Reply> {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]) => [name, String(value)] as [string, string]),
    );
    return await this.send(`${path}?${search}`, { cookie: await this.cookie() });
  }

  async json<T>(path: string, query: Record<string, string | number> = {}): Promise<T> {
    const { status, text } = await this.reply(path, query);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text);
  }

  /** Ends the command as Ctrl-C does; resolves to its exit code. */
  async end(): Promise<number> {
    this.#ending.abort(new Error("ended"));
    return await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

/** Starts `scrollback ui`. */
export async function startUi(
  url: string,
  { env = {}, adapters = {}, blobs, args = [] }: RunOptions & { readonly args?: readonly string[] } = {},
): Promise<RunningInspector> {
  const ending = new AbortController();
  let onText: () => void = () => undefined;
  const printed = new Promise<void>((resolve) => {
    onText = resolve;
  });
  const stdout = new Collector(false, () => onText());
  const stderr = new Collector(false);
  const running = runCli({
    ...{ args: ["ui", url, ...args], env, adapters, stdin: Readable.from([]), stdout, stderr },
    ...(blobs && { blobs }),
    signal: ending.signal,
  });
  await Promise.race([printed, running]);
  if (stdout.text === "") throw new Error(stderr.text);
  return new RunningInspector(stdout.text.trim(), ending, running);
}
