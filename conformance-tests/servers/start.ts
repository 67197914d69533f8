import type { ServerInfo } from "../src/harness.ts";
import { containerHost, type KillSignal, type RunningContainer, startContainer } from "./container.ts";
import { type Endpoint, type ServerDefinition, variableOf } from "./definition.ts";
import { findImage } from "./image.ts";
import { retryFor } from "./retry.ts";
import { type ServerName, servers } from "./servers.ts";
import { certificatePath, keyPath, makeCertificate } from "./tls.ts";

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
  exec(command: string[]): Promise<string>;
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

/** The time limit of a start: a Java server takes half a minute on a busy machine. A server that ends is reported at once. */
const START_TIMEOUT_MS = 60_000;

async function startOwn(name: ServerName, options: StartOptions): Promise<RunningServer> {
  const { args = [], password, tls: withTls = false } = options;
  const definition = servers[name];
  const image = await findImage(definition);
  const pair = withTls ? await makeCertificate(await containerHost()) : undefined;
  const container = await startContainer({
    image,
    command: definition.command({ args, password, tls: withTls }),
    ports: [definition.port],
    files: pair === undefined ? {} : { [certificatePath]: pair.certificate, [keyPath]: pair.key },
  });
  const tls = pair === undefined ? undefined : { ca: pair.certificate };
  const endpoint = { host: container.host, port: container.mappedPort(definition.port), password, tls };
  const identity = await untilAnswering(definition, endpoint, container);
  return {
    name,
    ...identity,
    ...endpoint,
    url: definition.url(endpoint),
    exec: container.exec,
    kill: container.kill,
    async start() {
      await container.start();
      await untilAnswering(definition, endpoint, container);
    },
    pause: container.pause,
    unpause: container.unpause,
    stop: container.stop,
    [Symbol.asyncDispose]: container.stop,
  };
}

async function useGiven(name: ServerName, url: string, options: StartOptions): Promise<RunningServer> {
  const variable = variableOf(name, "URL");
  if (Object.keys(options).length > 0) {
    throw new Error(
      `${variable} gives a server that cannot be started with other options: unset it for this test`,
    );
  }
  const definition = servers[name];
  const endpoint = parse(variable, definition, url);
  const identity = await retryFor(2_000, () => definition.identify(endpoint)).catch((error: unknown) => {
    throw new Error(`the server given by ${variable} does not answer: ${String(error)}`, { cause: error });
  });
  const refuse = async (): Promise<never> => {
    throw new Error(
      `the server given by ${variable} is not ours to stop, pause or look into: unset it for this test`,
    );
  };
  const leave = async (): Promise<void> => undefined;
  return {
    name,
    ...identity,
    host: endpoint.host,
    port: endpoint.port,
    password: endpoint.password,
    tls: endpoint.tls,
    url,
    exec: refuse,
    kill: refuse,
    start: refuse,
    pause: refuse,
    unpause: refuse,
    stop: leave,
    [Symbol.asyncDispose]: leave,
  };
}

/** The error does not contain the URL, which may contain a password. */
function parse(variable: string, definition: ServerDefinition, url: string): Endpoint {
  try {
    return definition.endpoint(url);
  } catch {
    const example = definition.url({ host: "localhost", port: definition.port });
    throw new TypeError(`${variable} must be the URL of a server of this kind, such as ${example}`);
  }
}

/** Returns when the server replies. A server that has ended or takes too long is removed, and its log is in the error. */
async function untilAnswering(
  definition: ServerDefinition,
  endpoint: Endpoint,
  container: RunningContainer,
): Promise<ServerInfo> {
  try {
    const identity = await retryFor(START_TIMEOUT_MS, async () =>
      (await container.isRunning()) ? await definition.identify(endpoint, container.log) : undefined,
    );
    if (identity === undefined) throw new Error("it ended");
    return identity;
  } catch (error) {
    const log = await container.log();
    await container.stop();
    throw new Error(`the server ${definition.name} did not start: ${String(error)}\n${log}`, {
      cause: error,
    });
  }
}
