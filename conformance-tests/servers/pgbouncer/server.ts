import type { ServerDefinition } from "../definition.ts";
import { askPostgres, postgresEndpoint } from "../postgres/server.ts";

/**
 * PgBouncer in transaction mode. Its arguments are lines of its configuration: `["[databases]", "* = host=10.0.0.2"]` forwards to
 * a server that its container can reach; other lines are added to its settings.
 */
export const pgbouncer: ServerDefinition = {
  name: "pgbouncer",
  image: "edoburu/pgbouncer:v1.24.1-p1",
  port: 5432,
  command({ args, password, tls }) {
    if (password !== undefined || tls)
      throw new Error("pgbouncer is started without a password and without TLS");
    const lines = [
      "[pgbouncer]",
      "listen_addr = *",
      "listen_port = 5432",
      "unix_socket_dir =",
      "auth_type = any",
      "pool_mode = transaction",
      "default_pool_size = 4",
      ...args,
    ];
    return [
      "sh",
      "-c",
      'printf "%s\\n" "$@" > /tmp/pgbouncer.ini; exec pgbouncer /tmp/pgbouncer.ini',
      "pgbouncer",
      ...lines,
    ];
  },
  url: ({ host, port }) => `postgres://postgres@${host}:${port}/postgres`,
  endpoint: postgresEndpoint,
  async identify(endpoint) {
    const { version = "" } = await askPostgres(endpoint, "pgbouncer", "SHOW VERSION");
    return { product: "PgBouncer", version: version.replace("PgBouncer ", "") };
  },
  standIn: { suite: "forky" },
};
