import type { ServerInfo } from "../src/harness.ts";
import {
  containerHost,
  hasEngine,
  hasImage,
  type KillSignal,
  type RunningContainer,
  startContainer,
} from "./docker.ts";
import type { Endpoint } from "./identify.ts";
import { retryFor, run } from "./programs.ts";
import { endpointOf, type ServerName, servers, urlOf, variableOf } from "./servers.ts";
import { standInTag } from "./stand-in.ts";
import { makeCertificate, tlsFolder } from "./tls.ts";

export interface StartOptions {
  /** More arguments for the server's command line, such as `["--appendonly", "yes"]`. */
  readonly args?: readonly string[];
  /** The password of the default user. Default: none. */
  readonly password?: string;
  /** Serve TLS only, with a certificate made for this run by the program `openssl`. */
  readonly tls?: boolean;
}

/** A running server, with controls for fault tests. */
export interface RunningServer extends ServerInfo, AsyncDisposable {
  readonly name: ServerName;
  readonly host: string;
  /** Stays the same over {@link kill} and {@link start}. */
  readonly port: number;
  /** With the password, if the server has one. */
  readonly url: string;
  readonly password?: string | undefined;
  /** Present if the server uses TLS: the certificate that clients must trust, in PEM. ioredis takes it as its option `tls`. */
  readonly tls?: { readonly ca?: string } | undefined;
  /** Runs a program inside the container and returns its standard output. Rejects if it fails. */
  exec(command: readonly string[]): Promise<string>;
  /** Ends the server, by default with SIGKILL, as a crash would. Its files stay. */
  kill(signal?: KillSignal): Promise<void>;
  /** Starts it again after {@link kill} and returns when it replies. */
  start(): Promise<void>;
  /** Freezes it: connections stay open without replies. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
  /** Removes it with its data; does nothing to a server given by URL. */
  stop(): Promise<void>;
}

/**
 * Starts a new server in a container and returns when it replies, after about half a second. Needs a Docker engine that runs,
 * and installs and starts none. The engine pulls the image of the server if it does not have it yet. If an environment variable
 * such as `SCROLLBACK_REDIS_URL` names a server, that server is used, without Docker: it takes no options, and `exec`, `kill`,
 * `start`, `pause` and `unpause` reject.
 *
 * @throws an Error with instructions if no Docker engine replies or no image is available.
 * @example
 * await using server = await startServer("redis", { args: ["--user", "app", "on", ">secret", "~chat:*", "+@read"] });
 * console.log(server.product, server.version, server.url);
 */
export async function startServer(name: ServerName, options: StartOptions = {}): Promise<RunningServer> {
  const url = process.env[variableOf(name, "URL")];
  return url === undefined ? startOwn(name, options) : useGiven(name, url, options);
}

/** The time limit of a start: a Java server takes more than a minute on a very busy machine. A server that ends is reported at once. */
const START_TIMEOUT_MS = 180_000;

/** The image that the engine has for a server: named by its variable, the official one, or a stand-in that `prepare.ts` has built. */
export async function presentImage(name: ServerName): Promise<string | undefined> {
  const named = process.env[variableOf(name, "IMAGE")];
  if (named !== undefined) return named;
  for (const image of [servers[name].image, await standInTag(name)]) if (await hasImage(image)) return image;
  return undefined;
}

/** {@link presentImage}, or the official one, which is pulled. Installs and builds nothing. @throws an Error with instructions. */
export async function findImage(name: ServerName): Promise<string> {
  if (!(await hasEngine())) throw noServer(name, "no Docker engine answers");
  const found = await presentImage(name);
  if (found !== undefined) return found;
  const { image } = servers[name];
  const refusal = await pull(image);
  if (refusal !== undefined) throw noServer(name, `the Docker engine cannot pull ${image}: ${refusal}`);
  return image;
}

/** Pulls an image; returns the reason if that fails. */
export async function pull(image: string): Promise<string | undefined> {
  return await run("docker", ["pull", image]).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

function noServer(name: ServerName, reason: string): Error {
  const { image, port } = servers[name];
  return new Error(
    `no server "${name}" to test on: ${reason}. Do one of the following:
  - start a Docker engine that can pull ${image};
  - name an image that the engine has: ${variableOf(name, "IMAGE")}=…;
  - give a server that already runs: ${variableOf(name, "URL")}=${urlOf(name, { host: "localhost", port })};
  - in Scrollback's repository, as root on Debian: run node conformance-tests/servers/prepare.ts ${name}, which installs and
    starts an engine and builds an image from packages.`,
  );
}

async function startOwn(name: ServerName, options: StartOptions): Promise<RunningServer> {
  const { args = [], password, tls: withTls = false } = options;
  const { port, command } = servers[name];
  const image = await findImage(name);
  const pair = withTls ? await makeCertificate(containerHost()) : undefined;
  const files = pair && { "certificate.pem": pair.certificate, "key.pem": pair.key };
  const container = await startContainer({
    image,
    command: command({ args, password, tls: withTls }),
    ports: [port],
    ...(files && { folder: { path: tlsFolder, files } }),
  });
  const tls = pair && { ca: pair.certificate };
  const endpoint = { host: container.host, port: container.ports[0] ?? port, password, tls };
  const { exec, kill, pause, unpause, stop } = container;
  return {
    name,
    ...(await untilAnswering(name, endpoint, container)),
    ...endpoint,
    url: urlOf(name, endpoint),
    ...{ exec, kill, pause, unpause, stop, [Symbol.asyncDispose]: stop },
    async start() {
      await container.start();
      await untilAnswering(name, endpoint, container);
    },
  };
}

async function useGiven(name: ServerName, url: string, options: StartOptions): Promise<RunningServer> {
  const variable = variableOf(name, "URL");
  if (Object.keys(options).length > 0) {
    throw new Error(
      `${variable} gives a server that cannot be started with other options: unset it for this test`,
    );
  }
  const endpoint = parse(name, url);
  const identity = await retryFor(2_000, () => servers[name].identify(endpoint)).catch((error: unknown) => {
    throw new Error(`the server given by ${variable} does not answer: ${String(error)}`, { cause: error });
  });
  const refuse = async (): Promise<never> => {
    throw new Error(
      `the server given by ${variable} is not ours to stop, pause or look into: unset it for this test`,
    );
  };
  const leave = async (): Promise<void> => undefined;
  return {
    ...{ name, ...identity, ...endpoint, url },
    ...{ exec: refuse, kill: refuse, start: refuse, pause: refuse, unpause: refuse },
    ...{ stop: leave, [Symbol.asyncDispose]: leave },
  };
}

/** The error does not contain the URL, which may contain a password. */
function parse(name: ServerName, url: string): Endpoint {
  try {
    return endpointOf(name, url);
  } catch {
    const example = urlOf(name, { host: "localhost", port: servers[name].port });
    throw new TypeError(
      `${variableOf(name, "URL")} must be the URL of a server of this kind, such as ${example}`,
    );
  }
}

/** Returns when the server replies. A server that has ended or takes too long is removed, and its log is in the error. */
async function untilAnswering(
  name: ServerName,
  endpoint: Endpoint,
  container: RunningContainer,
): Promise<ServerInfo> {
  try {
    const identity = await retryFor(START_TIMEOUT_MS, async () =>
      (await container.isRunning()) ? await servers[name].identify(endpoint, container.log) : undefined,
    );
    if (identity === undefined) throw new Error("it ended");
    return identity;
  } catch (error) {
    const log = await container.log();
    await container.stop();
    throw new Error(`the server ${name} did not start: ${String(error)}\n${log}`, { cause: error });
  }
}
