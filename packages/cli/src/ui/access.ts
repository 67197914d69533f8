import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** What a request gets without access. */
export interface Refusal {
  readonly status: number;
  readonly problem: string;
}

/**
 * Who may read from the inspector: a browser that has opened the URL with the token, on this machine.
 *
 * The token is in the URL, so it may end in a history or a log: it works once, for a cookie. A page of another origin has no access even
 * with the cookie: a name that leads here (DNS rebinding) is not a host of ours, and browsers name the origin of a request.
 */
export class Access {
  readonly #hosts: ReadonlySet<string>;
  readonly #cookieName: string;
  readonly #session = secret();
  #token: string | undefined = secret();

  constructor(port: number) {
    this.#hosts = new Set(["127.0.0.1", "localhost"].map((name) => new URL(`http://${name}:${port}`).host));
    // Browsers send a cookie to all ports of a host.
    this.#cookieName = `scrollback-ui-${port}`;
  }

  get token(): string {
    return this.#token ?? "";
  }

  /** Why a request is refused, whoever sends it. */
  refusal({ method, headers }: IncomingMessage): Refusal | undefined {
    const { host = "", origin } = headers;
    const site = headers["sec-fetch-site"] ?? "none";
    if (!this.#hosts.has(host)) return { status: 403, problem: "the host is not this inspector" };
    if (method !== "GET" && method !== "HEAD") return { status: 405, problem: "the inspector only reads" };
    if (origin !== undefined && origin !== `http://${host}`)
      return { status: 403, problem: "the request comes from another origin" };
    if (site !== "none" && site !== "same-origin")
      return { status: 403, problem: "the request comes from another site; copy the URL to the address bar" };
    return undefined;
  }

  /** The cookie for the token of a URL, which works once. */
  redeem({ method }: IncomingMessage, token: string): string | undefined {
    if (method !== "GET" || this.#token === undefined || !isSame(token, this.#token)) return undefined;
    this.#token = undefined;
    return `${this.#cookieName}=${this.#session}; Path=/; HttpOnly; SameSite=Strict`;
  }

  /** Whether a request has the cookie. */
  isGranted({ headers }: IncomingMessage): boolean {
    const cookies = (headers.cookie ?? "").split(";").map((one) => one.trim());
    return cookies.some((one) => isSame(one, `${this.#cookieName}=${this.#session}`));
  }
}

function secret(): string {
  return randomBytes(24).toString("base64url");
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
