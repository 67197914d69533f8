import type { Endpoint, ServerDefinition, StandIn } from "../definition.ts";
import { certificatePath, keyPath } from "../tls.ts";
import { identifyRedis } from "./info.ts";

/** A server that speaks Redis' protocol, and the programs on the PATH of its image. */
export interface RedisDefinition extends ServerDefinition {
  readonly serverProgram: string;
  readonly cliProgram: string;
}

/** The part of the definition that all versions of Redis and Valkey share. */
export function defineRedis(own: {
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
