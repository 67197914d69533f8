import { once } from "node:events";
import { connect } from "node:net";
import type { CommandOptions, Endpoint, ServerDefinition } from "../definition.ts";
import { certificatePath, keyPath } from "../tls.ts";

const patienceMs = 2_000;

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
  endpoint: parseMysqlUrl,
  async identify(endpoint) {
    const version = await reportedVersion(endpoint);
    const [, maria] = /^(?:5\.5\.5-)?([\d.]+)-MariaDB/i.exec(version) ?? [];
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

/** Reads the version in the first packet, which the server sends before the login and before TLS. */
async function reportedVersion({ host, port }: Endpoint): Promise<string> {
  const socket = connect({ host, port });
  const timer = setTimeout(() => socket.destroy(new Error("no answer")), patienceMs);
  // A port that the engine forwards accepts connections before the server does, and closes them without an error.
  const ended = new AbortController();
  socket.once("close", () => ended.abort());
  try {
    const [packet]: Buffer[] = await once(socket, "data", ended);
    // Three bytes of length, the number of the packet, and the version of the protocol.
    if (packet?.[4] !== 10) throw new Error(packet?.toString("latin1", 7));
    return packet.toString("latin1", 5, packet.indexOf(0, 5));
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

function parseMysqlUrl(text: string): Endpoint {
  const url = new URL(text);
  if (!/^(?:mysql|mariadb):$/.test(url.protocol)) throw new TypeError("the URL must begin with mysql://");
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || 3306),
    username: url.username === "" ? undefined : decodeURIComponent(url.username),
    password: url.password === "" ? undefined : decodeURIComponent(url.password),
    tls: url.searchParams.has("ssl") ? {} : undefined,
  };
}
