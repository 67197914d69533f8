import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ServerInfo } from "../src/harness.ts";
import {
  dynamoInfo,
  type Endpoint,
  mariadbInfo,
  mongoInfo,
  pgbouncerInfo,
  postgresInfo,
  redisInfo,
  s3Info,
} from "./identify.ts";
import { run } from "./programs.ts";
import { certificatePath, keyPath } from "./tls.ts";

interface CommandOptions {
  readonly args: readonly string[];
  readonly password: string | undefined;
  /** Whether to serve TLS only, with the certificate and key at the paths in `tls.ts`. */
  readonly tls: boolean;
}

/** A kind of server. */
interface Product {
  /** The port that the server listens on inside its container. */
  readonly port: number;
  /** The schemes of its URLs, the first of those that tests get; and the schemes, or the part of a query, that mean TLS. */
  readonly schemes: readonly string[];
  readonly tls: { readonly scheme: string } | { readonly query: string; readonly means: RegExp };
  readonly user?: string;
  readonly path?: string;
  /** The command of the container, the same for the official image and the stand-in. */
  command(options: CommandOptions): string[];
  /** See `identify.ts`. @param log the server's output so far; absent for a server given by URL. */
  identify(endpoint: Endpoint, log?: () => Promise<string>): Promise<ServerInfo>;
}

export interface ServerDefinition extends Product {
  /** The official image. It is used if it exists locally or can be pulled. */
  readonly image: string;
  /**
   * How to build an image from packages that replaces the official one, of the folder with the server's name in `images`: the Debian
   * suite of its base image, the programs (with the Debian package of each) by which `download` adds files from other registries.
   */
  readonly standIn: {
    readonly suite: "bullseye" | "bookworm" | "forky";
    readonly programs?: Readonly<Record<string, string>>;
    download?(folder: string): Promise<void>;
  };
}

/** Servers that speak Redis' protocol, with the names of the programs on the PATH of their image. */
const redis = (name: string): Product => ({
  port: 6379,
  schemes: ["redis"],
  tls: { scheme: "rediss" },
  command({ args, password, tls }) {
    const files = { cert: certificatePath, key: keyPath, "ca-cert": certificatePath };
    const secure = Object.entries(files).flatMap(([kind, path]) => [`--tls-${kind}-file`, path]);
    const listen = tls
      ? ["--port", "0", "--tls-port", "6379", "--tls-auth-clients", "no", ...secure]
      : ["--port", "6379"];
    const login = password === undefined ? [] : ["--requirepass", password];
    return [`${name}-server`, "--protected-mode", "no", "--save", "", ...listen, ...login, ...args];
  },
  identify: redisInfo,
});

/** Data is durable: it survives a kill. Both images run a shell, which writes the access rules and makes the key readable to the server. */
const postgres: Product = {
  port: 5432,
  schemes: ["postgres", "postgresql"],
  tls: { query: "?sslmode=verify-full", means: /sslmode=(require|verify-)/ },
  user: "postgres",
  path: "/postgres",
  command({ args, password, tls }) {
    const access = `${tls ? "hostssl" : "host"} all all all ${password === undefined ? "trust" : "scram-sha-256"}`;
    const settings = ["listen_addresses=*", "hba_file=/tmp/pg_hba.conf", "max_connections=300"].concat(
      tls ? ["ssl=on", `ssl_cert_file=${certificatePath}`, "ssl_key_file=/tmp/key.pem"] : [],
    );
    const steps = [
      `printf 'local all all trust\\n${access}\\n' > /tmp/pg_hba.conf`,
      ...(tls ? [`install -m 600 ${keyPath} /tmp/key.pem`, "chown postgres /tmp/key.pem"] : []),
      password === undefined
        ? "export POSTGRES_HOST_AUTH_METHOD=trust"
        : `export POSTGRES_PASSWORD='${password}'`,
      'exec docker-entrypoint.sh postgres "$@"',
    ];
    return shell(steps, ...settings.flatMap((setting) => ["-c", setting]), ...args);
  },
  identify: postgresInfo,
};

const shell = (steps: readonly string[], ...args: string[]) => [
  ...["sh", "-c", `set -e; ${steps.join("; ")}`, "server"],
  ...args,
];

/** @throws Error for options that a server cannot be started with. */
function plain(name: string, { args, password, tls }: CommandOptions): readonly string[] {
  if (password !== undefined || tls) throw new Error(`${name} is started without a password and without TLS`);
  return args;
}

/** Compiles a program of a Go module into a folder, for a stand-in. */
async function goInstall(folder: string, of: string, program: string): Promise<void> {
  await run("go", ["version"]).catch((cause: unknown) => {
    throw new Error(
      `the stand-in for ${of} is compiled by Go 1.25 or later, and there is no go on the PATH. Install Go from its own site (Debian's package may be older).`,
      { cause },
    );
  });
  // Static, because it runs on another system than the one that compiles it. Without debug information, for time and size.
  await run("env", [`GOBIN=${folder}`, "CGO_ENABLED=0", "go", "install", "-ldflags=-s -w", program]);
}

/** Every server that the tests can start, by name. */
export const servers = {
  redis: { ...redis("redis"), image: "redis:8", standIn: { suite: "forky" } },
  "redis-7": { ...redis("redis"), image: "redis:7", standIn: { suite: "bookworm" } },
  /** Debian has no Redis 6.2; the stand-in is made from a Python package that bundles its programs. */
  "redis-6.2": {
    ...redis("redis"),
    image: "redis:6.2",
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
  },
  valkey: { ...redis("valkey"), image: "valkey/valkey:9", standIn: { suite: "forky" } },
  /** Debian has no MongoDB. The stand-in is FerretDB, which speaks its protocol, over PostgreSQL with the DocumentDB extension. */
  mongodb: {
    image: "mongo:8",
    port: 27017,
    schemes: ["mongodb"],
    tls: { query: "?tls=true", means: /[?&](tls|ssl)=true/ },
    path: "/",
    command: (options) => ["mongod", ...plain("mongodb", options)],
    identify: mongoInfo,
    standIn: {
      suite: "forky",
      async download(folder) {
        const version = (await readFile(join(folder, "ferretdb-version"), "utf8")).trim();
        await goInstall(folder, "MongoDB", `github.com/FerretDB/FerretDB/v2/cmd/ferretdb@${version}`);
      },
    },
  },
  /**
   * Amazon's DynamoDB Local. Its data is in memory and ends with the process; with the arguments `-dbPath /tmp` it is in a file, which
   * survives a kill.
   */
  dynamodb: {
    image: "amazon/dynamodb-local",
    port: 8000,
    schemes: ["http"],
    tls: { scheme: "https" },
    command: ({ args }) => [
      ...["-jar", "DynamoDBLocal.jar", "-sharedDb", "-disableTelemetry"],
      ...(args.includes("-dbPath") ? [] : ["-inMemory"]),
      ...args,
    ],
    identify: dynamoInfo,
    standIn: {
      suite: "forky",
      programs: { java: "default-jre-headless", mvn: "maven" },
      async download(folder) {
        const to = [`-DoutputDirectory=${join(folder, "lib")}`, "-DincludeScope=runtime"];
        const how = ["--batch-mode", "--quiet", "--file", join(folder, "pom.xml")];
        await run("mvn", [...how, "dependency:copy-dependencies", ...to]);
      },
    },
  },
  /** Moto's server, or gofakes3 in its place. Both keep objects in memory, and accept any credentials. */
  s3: {
    image: "motoserver/moto:5.2.5",
    port: 5000,
    schemes: ["http"],
    tls: { scheme: "https" },
    command: (options) => [...plain("s3", options)],
    identify: s3Info,
    standIn: {
      suite: "forky",
      async download(folder) {
        const version = (await readFile(join(folder, "gofakes3-version"), "utf8")).trim();
        await goInstall(folder, "S3", `github.com/johannesboyne/gofakes3/cmd/gofakes3@${version}`);
      },
    },
  },
  postgres: { ...postgres, image: "pgvector/pgvector:pg18", standIn: { suite: "forky" } },
  "postgres-13": { ...postgres, image: "postgres:13", standIn: { suite: "bullseye" } },
  "postgres-15": { ...postgres, image: "postgres:15", standIn: { suite: "bookworm" } },
  /**
   * PgBouncer in transaction mode. Its arguments are lines of its configuration: `["[databases]", "* = host=10.0.0.2"]` forwards to a
   * server that its container can reach; other lines are added to its settings.
   */
  pgbouncer: {
    ...postgres,
    image: "edoburu/pgbouncer:v1.24.1-p1",
    command: (options) =>
      shell(
        ['printf "%s\\n" "$@" > /tmp/pgbouncer.ini', "exec pgbouncer /tmp/pgbouncer.ini"],
        ...["[pgbouncer]", "listen_addr = *", "listen_port = 5432", "unix_socket_dir =", "auth_type = any"],
        ...["pool_mode = transaction", "default_pool_size = 4", ...plain("pgbouncer", options)],
      ),
    identify: pgbouncerInfo,
    standIn: { suite: "forky" },
  },
  /** Data is durable: it survives a kill. */
  mariadb: {
    image: "mariadb:11.8",
    port: 3306,
    schemes: ["mysql", "mariadb"],
    tls: { query: "", means: /[?&]ssl/ },
    user: "root",
    path: "/app",
    command({ args, password, tls }) {
      const steps = [
        ...(tls ? [`install -m 644 ${keyPath} /tmp/key.pem`] : []),
        "export MARIADB_DATABASE=app",
        password === undefined
          ? "export MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1"
          : `export MARIADB_ROOT_PASSWORD='${password}'`,
        'exec docker-entrypoint.sh mariadbd "$@"',
      ];
      // Without names of hosts, the server never blocks a host from which many connections broke.
      const options = ["--max-connections=300", "--skip-name-resolve"].concat(
        tls
          ? [`--ssl-cert=${certificatePath}`, "--ssl-key=/tmp/key.pem", "--require-secure-transport=ON"]
          : [],
      );
      return shell(steps, ...options, ...args);
    },
    identify: mariadbInfo,
    standIn: { suite: "forky" },
  },
} satisfies Record<string, ServerDefinition>;

export type ServerName = keyof typeof servers;

/**
 * The environment variable with a replacement for the official image of the server `name`: another image, or
 * a running server, such as `SCROLLBACK_REDIS_URL`.
 */
export function variableOf(name: ServerName, what: "IMAGE" | "URL"): string {
  return `SCROLLBACK_${name.replace(/[^a-z0-9]/g, "_").toUpperCase()}_${what}`;
}

/** The URL of a server for clients. */
export function urlOf(name: ServerName, { host, port, username, password, tls }: Endpoint): string {
  const { schemes, tls: secure, user, path = "" }: ServerDefinition = servers[name];
  const login = [username ?? user ?? "", ...(password === undefined ? [] : [password])].map(
    encodeURIComponent,
  );
  const scheme = tls && "scheme" in secure ? secure.scheme : schemes[0];
  const query = tls && "query" in secure ? secure.query : "";
  return `${scheme}://${login.join("") && `${login.join(":")}@`}${host}:${port}${path}${query}`;
}

/** The address in the URL of a server. @throws TypeError if it is the URL of another kind of server. */
export function endpointOf(name: ServerName, text: string): Endpoint {
  const { schemes, tls, port }: ServerDefinition = servers[name];
  const url = new URL(text);
  const scheme = url.protocol.slice(0, -1);
  const isSecure = "scheme" in tls ? scheme === tls.scheme : tls.means.test(url.search);
  if (!schemes.includes(scheme) && !("scheme" in tls && isSecure))
    throw new TypeError(`the URL has the protocol ${url.protocol}`);
  const decoded = (part: string) => (part === "" ? undefined : decodeURIComponent(part));
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || port),
    username: decoded(url.username),
    password: decoded(url.password),
    tls: isSecure ? {} : undefined,
  };
}
