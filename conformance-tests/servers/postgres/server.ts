import type { CommandOptions, Endpoint, ServerDefinition, StandIn } from "../definition.ts";
import { certificatePath, keyPath } from "../tls.ts";
import { reportedVersion } from "./startup.ts";

/** The part of the definition that all versions of PostgreSQL share. Data is durable: it survives a kill. */
function definePostgres(own: { name: string; image: string; standIn: StandIn }): ServerDefinition {
  return {
    ...own,
    port: 5432,
    command,
    url: ({ host, port, username = "postgres", password, tls }) => {
      const login =
        password === undefined ? username : `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
      return `postgres://${login}@${host}:${port}/postgres${tls === undefined ? "" : "?sslmode=verify-full"}`;
    },
    endpoint: parsePostgresUrl,
    async identify(endpoint, log) {
      const reported = await reportedVersion(endpoint, "postgres");
      // If the server requires a password, the version is read from the log.
      const version = reported ?? /starting PostgreSQL (\S+)/.exec((await log?.()) ?? "")?.[1];
      return { product: "PostgreSQL", version: version?.split(" ")[0] ?? "of unknown version" };
    },
  };
}

/** Both images run a shell, which writes the access rules and makes the key readable only to the server. */
function command({ args, password, tls }: CommandOptions): string[] {
  const access = `${tls ? "hostssl" : "host"} all all all ${password === undefined ? "trust" : "scram-sha-256"}`;
  const settings = ["listen_addresses=*", "hba_file=/tmp/pg_hba.conf", "max_connections=300"].concat(
    tls ? ["ssl=on", `ssl_cert_file=${certificatePath}`, "ssl_key_file=/tmp/key.pem"] : [],
  );
  const options = settings.flatMap((setting) => ["-c", setting]).concat(args);
  const steps = [
    `printf 'local all all trust\\n${access}\\n' > /tmp/pg_hba.conf`,
    ...(tls ? [`install -m 600 ${keyPath} /tmp/key.pem`, "chown postgres /tmp/key.pem"] : []),
    password === undefined
      ? "export POSTGRES_HOST_AUTH_METHOD=trust"
      : `export POSTGRES_PASSWORD='${password}'`,
    'exec docker-entrypoint.sh postgres "$@"',
  ];
  return ["sh", "-c", `set -e; ${steps.join("; ")}`, "postgres", ...options];
}

export function parsePostgresUrl(text: string): Endpoint {
  const url = new URL(text);
  if (!/^postgres(ql)?:$/.test(url.protocol)) throw new TypeError("the URL must begin with postgres://");
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || 5432),
    username: url.username === "" ? undefined : decodeURIComponent(url.username),
    password: url.password === "" ? undefined : decodeURIComponent(url.password),
    tls: /^(require|verify-)/.test(url.searchParams.get("sslmode") ?? "") ? {} : undefined,
  };
}

export const postgres = definePostgres({
  name: "postgres",
  image: "pgvector/pgvector:pg18",
  standIn: { suite: "forky" },
});

export const postgres13 = definePostgres({
  name: "postgres-13",
  image: "postgres:13",
  standIn: { suite: "bullseye" },
});

export const postgres15 = definePostgres({
  name: "postgres-15",
  image: "postgres:15",
  standIn: { suite: "bookworm" },
});
