import type { ServerInfo } from "../src/harness.ts";
import { containerHost, type RunningContainer, startContainer } from "./container.ts";
import type { Endpoint, ServerDefinition } from "./definition.ts";
import { prepareImage } from "./image.ts";
import { retryFor } from "./retry.ts";
import { type ServerName, servers } from "./servers.ts";
import { certificatePath, keyPath, makeCertificate } from "./tls.ts";
import { variableOf } from "./variables.ts";

export interface StartOptions {
  /** More arguments for the server's command line, such as `["--appendonly", "yes"]`. */
  readonly args?: readonly string[];
  /** The password of the default user. Without one, none is asked for. */
  readonly password?: string;
  /** Serve TLS only, with a certificate made for this run. */
  readonly tls?: boolean;
}

/** A server that answers, and the faults that tests can put upon it. */
export interface RunningServer extends ServerInfo, AsyncDisposable {
  readonly name: ServerName;
  readonly host: string;
  /** Stays the same over {@link kill} and {@link start}. */
  readonly port: number;
  /** With the password, if the server has one. */
  readonly url: string;
  readonly password?: string | undefined;
  /** Present where the server speaks TLS: what clients must trust, in PEM. ioredis takes it as its option `tls`. */
  readonly tls?: { readonly ca?: string } | undefined;
  /** Runs a program inside the container and gives its standard output. Rejects when it fails. */
  exec(command: string[]): Promise<string>;
  /** Ends the server with SIGKILL, as a crash would. Its files stay. */
  kill(): Promise<void>;
  /** Starts it again after {@link kill} and returns when it answers. */
  start(): Promise<void>;
  /** Freezes it: connections stay open and nothing answers. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
  /** Removes it with its data; a server that was given by URL stays as it is. */
  stop(): Promise<void>;
}

/**
 * Starts a server of its own in a container and returns when it answers, after about half a second if it is prepared;
 * else it is prepared first. Where an environment variable such as `SCROLLBACK_REDIS_URL` names a server, it is that
 * one, which takes no options, and on which `exec`, `kill`, `start`, `pause` and `unpause` reject.
 *
 * @throws an Error that tells the ways out where no server can be had.
 * @example
 * await using server = await startServer("redis", { args: ["--user", "app", "on", ">secret", "~chat:*", "+@read"] });
 * console.log(server.product, server.version, server.url);
 */
export async function startServer(name: ServerName, options: StartOptions = {}): Promise<RunningServer> {
  const url = process.env[variableOf(name, "URL")];
  return url === undefined ? startOwn(name, options) : useGiven(name, url, options);
}

/** A server that ended is told at once; one of Java takes half a minute on a busy machine. */
const START_TIMEOUT_MS = 60_000;

async function startOwn(name: ServerName, options: StartOptions): Promise<RunningServer> {
  const { args = [], password, tls: withTls = false } = options;
  const definition = servers[name];
  const image = await prepareImage(definition);
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

/** The reason is told without the URL, which may hold a password. */
function parse(variable: string, definition: ServerDefinition, url: string): Endpoint {
  try {
    return definition.endpoint(url);
  } catch {
    const example = definition.url({ host: "localhost", port: definition.port });
    throw new TypeError(`${variable} must be the URL of a server of this kind, such as ${example}`);
  }
}

/** Returns when the server answers. One that has ended or takes too long is removed, and its log is in the error. */
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
