import type { RowDataPacket } from "mysql2/promise";
import { type CommandOptions, endpointIn, PATIENCE_MS, type ServerDefinition } from "../definition.ts";
import { certificatePath, keyPath } from "../tls.ts";

/** Data is durable: it survives a kill. */
export const mariadb: ServerDefinition = {
  name: "mariadb",
  image: "mariadb:11.8",
  port: 3306,
  command,
  url: ({ host, port, username = "root", password }) => {
    const login =
      password === undefined ? username : `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
    return `mysql://${login}@${host}:${port}/app`;
  },
  endpoint: (text) =>
    endpointIn(text, {
      ...{ protocol: /^(?:mysql|mariadb):$/, port: 3306 },
      isTls: ({ searchParams }) => searchParams.has("ssl"),
    }),
  async identify({ host, port, username = "root", password, tls }) {
    const { createConnection } = await import("mysql2/promise");
    const login = { user: username, ...(password !== undefined && { password }) };
    const ssl = tls && { ssl: { ...(tls.ca !== undefined && { ca: tls.ca }) } };
    const client = await createConnection({ host, port, ...login, ...ssl, connectTimeout: PATIENCE_MS });
    const [rows] = await client
      .query<RowDataPacket[]>("SELECT VERSION() AS version")
      .finally(() => client.destroy());
    const version = String(rows[0]?.version);
    const [, maria] = /^([\d.]+)-MariaDB/i.exec(version) ?? [];
    return maria === undefined ? { product: "MySQL", version } : { product: "MariaDB", version: maria };
  },
  standIn: { suite: "forky" },
};

/** Both images run a shell, which makes the key readable to the server and passes the password in a variable. */
function command({ args, password, tls }: CommandOptions): string[] {
  // Without names of hosts, the server never blocks a host from which many connections broke.
  const options = ["--max-connections=300", "--skip-name-resolve"].concat(
    tls ? [`--ssl-cert=${certificatePath}`, "--ssl-key=/tmp/key.pem", "--require-secure-transport=ON"] : [],
    args,
  );
  const steps = [
    ...(tls ? [`install -m 644 ${keyPath} /tmp/key.pem`] : []),
    "export MARIADB_DATABASE=app",
    password === undefined
      ? "export MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1"
      : `export MARIADB_ROOT_PASSWORD='${password}'`,
    'exec docker-entrypoint.sh mariadbd "$@"',
  ];
  return ["sh", "-c", `set -e; ${steps.join("; ")}`, "mariadb", ...options];
}
