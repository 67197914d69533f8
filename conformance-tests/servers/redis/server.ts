import { join } from "node:path";
import type { ServerInfo } from "../../src/harness.ts";
import {
  type Endpoint,
  endpointIn,
  PATIENCE_MS,
  type ServerDefinition,
  type StandIn,
} from "../definition.ts";
import { run } from "../programs.ts";
import { certificatePath, keyPath } from "../tls.ts";

/** A server that speaks Redis' protocol, and the programs on the PATH of its image. */
export interface RedisDefinition extends ServerDefinition {
  readonly serverProgram: string;
  readonly cliProgram: string;
}

/** The part of the definition that all versions of Redis and Valkey share. */
function defineRedis(own: {
  name: string;
  image: string;
  serverProgram: string;
  cliProgram: string;
  standIn: StandIn;
}): RedisDefinition {
  return {
    ...own,
    port: 6379,
    command({ args, password, tls }) {
      const listen = tls
        ? ["--port", "0", "--tls-port", "6379", "--tls-auth-clients", "no"].concat([
            "--tls-cert-file",
            certificatePath,
            "--tls-key-file",
            keyPath,
            "--tls-ca-cert-file",
            certificatePath,
          ])
        : ["--port", "6379"];
      const login = password === undefined ? [] : ["--requirepass", password];
      return [own.serverProgram, "--protected-mode", "no", "--save", "", ...listen, ...login, ...args];
    },
    url({ host, port, password, tls }) {
      const login = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
      return `${tls === undefined ? "redis" : "rediss"}://${login}${host}:${port}`;
    },
    endpoint: (text) =>
      endpointIn(text, {
        protocol: /^rediss?:$/,
        port: 6379,
        isTls: ({ protocol }) => protocol === "rediss:",
      }),
    identify: identifyRedis,
  };
}

/** Rejects while the server loads its data. */
async function identifyRedis({ host, port, username, password, tls }: Endpoint): Promise<ServerInfo> {
  const { Redis } = await import("ioredis");
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  const times = { connectTimeout: PATIENCE_MS, commandTimeout: PATIENCE_MS, retryStrategy: () => null };
  const client = new Redis({
    host,
    port,
    ...login,
    ...(tls && { tls }),
    ...times,
    lazyConnect: true,
    enableReadyCheck: false,
  });
  let failure: unknown;
  client.on("error", (error) => {
    failure = error;
  });
  try {
    await client.connect();
    const info = await client.info();
    const field = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];
    if (field("loading") === "1") throw new Error("the server is loading its data");
    const valkey = field("valkey_version");
    const version = valkey ?? field("redis_version");
    if (version === undefined) throw new Error("the server's INFO contains no version");
    return { product: valkey === undefined ? "Redis" : "Valkey", version };
  } catch (error) {
    throw failure ?? error;
  } finally {
    client.disconnect();
  }
}

export const redis = defineRedis({
  name: "redis",
  image: "redis:8",
  serverProgram: "redis-server",
  cliProgram: "redis-cli",
  standIn: { suite: "forky" },
});

export const redis7 = defineRedis({
  name: "redis-7",
  image: "redis:7",
  serverProgram: "redis-server",
  cliProgram: "redis-cli",
  standIn: { suite: "bookworm" },
});

/** Debian has no Redis 6.2; the stand-in is made from a Python package that bundles its programs. */
export const redis62 = defineRedis({
  name: "redis-6.2",
  image: "redis:6.2",
  serverProgram: "redis-server",
  cliProgram: "redis-cli",
  standIn: {
    suite: "forky",
    programs: { pip3: "python3-pip" },
    async download(folder) {
      const wheel = [
        "--only-binary",
        ":all:",
        "--platform",
        "manylinux2014_x86_64",
        "--python-version",
        "3.11",
      ];
      const from = ["--requirement", join(folder, "requirements.txt"), "--require-hashes", "--no-deps"];
      await run("pip3", ["install", ...from, ...wheel, "--target", join(folder, "packages")]);
    },
  },
});

export const valkey = defineRedis({
  name: "valkey",
  image: "valkey/valkey:9",
  serverProgram: "valkey-server",
  cliProgram: "valkey-cli",
  standIn: { suite: "forky" },
});
