import {
  type CommandOptions,
  type Endpoint,
  endpointIn,
  PATIENCE_MS,
  type ServerDefinition,
  type StandIn,
} from "../definition.ts";
import { certificatePath, keyPath } from "../tls.ts";

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
    endpoint: postgresEndpoint,
    async identify(endpoint) {
      const { server_version = "" } = await askPostgres(endpoint, "postgres", "SHOW server_version");
      return { product: "PostgreSQL", version: server_version.split(" ")[0] ?? "" };
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

export const postgresEndpoint = (text: string): Endpoint =>
  endpointIn(text, {
    ...{ protocol: /^postgres(ql)?:$/, port: 5432 },
    isTls: ({ searchParams }) => /^(require|verify-)/.test(searchParams.get("sslmode") ?? ""),
  });

/** The first row of the reply to a statement. */
export async function askPostgres(
  { host, port, username = "postgres", password, tls }: Endpoint,
  database: string,
  statement: string,
): Promise<Record<string, string>> {
  const { Client } = await import("pg");
  const login = { user: username, ...(password !== undefined && { password }) };
  const times = { connectionTimeoutMillis: PATIENCE_MS, query_timeout: PATIENCE_MS };
  const client = new Client({ host, port, ...login, database, ...(tls && { ssl: tls }), ...times });
  // A server that is not ready closes the connection.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query(statement)).rows[0] ?? {};
  } finally {
    await client.end();
  }
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
