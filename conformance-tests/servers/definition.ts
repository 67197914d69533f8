import type { ServerInfo } from "../src/harness.ts";

/** What the tests know about one server. Each has a folder of its name, whose `server.ts` exports its definition. */
export interface ServerDefinition {
  /** How callers and the environment variables name it. */
  readonly name: string;
  /** The official image. It is used wherever it is there or can be pulled. */
  readonly image: string;
  /** The port that the server listens on inside its container. */
  readonly port: number;
  /** The command of the container, the same for the official image and the stand-in. */
  command(options: CommandOptions): string[];
  /** The URL that clients are given. */
  url(endpoint: Endpoint): string;
  /** Where a URL leads to that someone gave. Throws a `TypeError` on a URL of another kind of server. */
  endpoint(url: string): Endpoint;
  /**
   * Asks the running server who it is, and reports nothing but its answer: a stand-in, or a server given by URL, shows
   * its own name. Rejects until the server takes commands, so it is the health check too.
   *
   * @param log what the server has written so far, for one that tells its version nowhere else; absent for one given by URL.
   */
  identify(endpoint: Endpoint, log?: () => Promise<string>): Promise<ServerInfo>;
  readonly standIn: StandIn;
}

/**
 * How to build an image from packages that does what the official one does. The build context is the folder `image/`
 * beside `server.ts`; the image is built again when its contents change, so a file there pins each version that is
 * downloaded.
 */
export interface StandIn {
  /** The Debian suite of the base image, which the Dockerfile gets as its build argument `BASE`. */
  readonly suite: "bookworm" | "trixie" | "forky";
  /** Adds to `folder`, a copy of `image/`, what comes from another package registry than Debian's. */
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
  /** Present where the server speaks TLS. `ca` is what to trust, in PEM; without it, what the system trusts. */
  readonly tls?: { readonly ca?: string } | undefined;
}
