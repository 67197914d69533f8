import type { ServerInfo } from "../src/harness.ts";

/** How long a server is waited for that does not reply, before it is asked again. */
export const PATIENCE_MS = 2_000;

/** The definition of one server. Each server has a folder with its name; the versions of one product are defined in one `server.ts`. */
export interface ServerDefinition {
  /** Its name for callers and in environment variables. */
  readonly name: string;
  /** The official image. It is used if it exists locally or can be pulled. */
  readonly image: string;
  /** The port that the server listens on inside its container. */
  readonly port: number;
  /** The command of the container, the same for the official image and the stand-in. */
  command(options: CommandOptions): string[];
  /** The URL for clients. */
  url(endpoint: Endpoint): string;
  /** The address in a given URL. Throws a `TypeError` for a URL of another kind of server. */
  endpoint(url: string): Endpoint;
  /**
   * Asks the running server for its product and version, and returns only its reply: a stand-in, or a server given by URL,
   * returns its own name. Rejects until the server accepts commands, so it is also the health check. The client is imported by the call:
   * whoever starts one kind of server needs no other client.
   *
   * @param log the server's output so far, for a server that reports its version nowhere else; absent for a server given by URL.
   */
  identify(endpoint: Endpoint, log?: () => Promise<string>): Promise<ServerInfo>;
  readonly standIn: StandIn;
}

/**
 * How to build an image from packages that replaces the official one. The build context is `image/` in the
 * folder with the server's name; the image is built again when its contents change, so a file there pins each version that is
 * downloaded.
 */
export interface StandIn {
  /** The Debian suite of the base image, which the Dockerfile gets as its build argument `BASE`. */
  readonly suite: "bullseye" | "bookworm" | "trixie" | "forky";
  /** The programs that {@link download} runs, and the Debian package of each. */
  readonly programs?: Readonly<Record<string, string>>;
  /** Adds files from package registries other than Debian's to `folder`, a copy of `image/`. */
  download?(folder: string): Promise<void>;
}

export interface CommandOptions {
  readonly args: readonly string[];
  readonly password: string | undefined;
  /** Whether to serve TLS only, with the certificate and key at the paths in `tls.ts`. */
  readonly tls: boolean;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Present if the server uses TLS. `ca` is the certificate to trust, in PEM; without it, the system's are trusted. */
  readonly tls?: { readonly ca?: string } | undefined;
}

/**
 * The environment variable with a replacement for the official image of the server `name`: another image, or
 * a running server, such as `SCROLLBACK_REDIS_URL`.
 */
export function variableOf(name: string, what: "IMAGE" | "URL"): string {
  return `SCROLLBACK_${name.replace(/[^a-z0-9]/g, "_").toUpperCase()}_${what}`;
}

/**
 * The address in a URL.
 *
 * @throws TypeError if it is the URL of another kind of server.
 */
export function endpointIn(
  text: string,
  { protocol, port, isTls }: { protocol: RegExp; port: number; isTls: (url: URL) => boolean },
): Endpoint {
  const url = new URL(text);
  if (!protocol.test(url.protocol)) throw new TypeError(`the URL has the protocol ${url.protocol}`);
  const decoded = (part: string) => (part === "" ? undefined : decodeURIComponent(part));
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || port),
    username: decoded(url.username),
    password: decoded(url.password),
    tls: isTls(url) ? {} : undefined,
  };
}
