import type { ServerInfo } from "../src/harness.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Present if the server uses TLS. `ca` is the certificate to trust, in PEM; without it, the system's are trusted. */
  readonly tls?: { readonly ca?: string } | undefined;
}

// Each function asks a running server for its product and version, and returns only its reply: a stand-in, or a server given by URL,
// returns its own name. It rejects until the server accepts commands, so it is also the health check. The client is imported by the call:
// whoever starts one kind of server needs no other client.

/** How long a server is waited for that does not reply, before it is asked again. */
const PATIENCE_MS = 2_000;

const loginOf = ({ username, password }: Endpoint) => ({
  ...(username !== undefined && { username }),
  ...(password !== undefined && { password }),
});

/** Rejects while the server loads its data. */
export async function redisInfo({ host, port, tls, ...login }: Endpoint): Promise<ServerInfo> {
  const { Redis } = await import("ioredis");
  const times = { connectTimeout: PATIENCE_MS, commandTimeout: PATIENCE_MS, retryStrategy: () => null };
  const options = {
    ...loginOf({ host, port, ...login }),
    ...times,
    lazyConnect: true,
    enableReadyCheck: false,
  };
  const client = new Redis({ host, port, ...(tls && { tls }), ...options });
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

export async function mongoInfo({ host, port, tls, ...login }: Endpoint): Promise<ServerInfo> {
  const { MongoClient } = await import("mongodb");
  const times = { serverSelectionTimeoutMS: PATIENCE_MS, socketTimeoutMS: PATIENCE_MS };
  const auth = login.password === undefined ? {} : { auth: loginOf({ host, port, ...login }) };
  const options = { ...times, ...auth, directConnection: true, tls: tls !== undefined };
  const client = new MongoClient(`mongodb://${host}:${port}/`, options);
  try {
    const { version, ferretdb } = await client.db("admin").command({ buildInfo: 1 });
    if (ferretdb) return { product: "FerretDB", version: String(ferretdb.version).replace(/^v/, "") };
    return { product: "MongoDB", version };
  } finally {
    await client.close();
  }
}

/** No request returns the version: DynamoDB Local only writes it to its log when it starts. */
export async function dynamoInfo(
  { host, port, tls }: Endpoint,
  log?: () => Promise<string>,
): Promise<ServerInfo> {
  const scope = "local/20120810/us-east-1/dynamodb/aws4_request";
  const response = await fetch(`http${tls ? "s" : ""}://${host}:${port}`, {
    method: "POST",
    headers: {
      "x-amz-target": "DynamoDB_20120810.ListTables",
      authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`,
    },
    body: "{}",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the server answered with status ${response.status}`);
  if (!response.headers.has("x-amzn-requestid")) throw new Error("the server is not DynamoDB");
  const isLocal = response.headers.get("server")?.startsWith("Jetty");
  const version = /^Version:\s*(\S+)/m.exec((await log?.()) ?? "")?.[1];
  return { product: isLocal ? "DynamoDB Local" : "DynamoDB", version: version ?? "of unknown version" };
}

/** No request returns the version. Only moto has an interface of its own beside that of S3. */
export async function s3Info({ host, port, tls }: Endpoint): Promise<ServerInfo> {
  const address = `http${tls ? "s" : ""}://${host}:${port}`;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const buckets = await (await fetch(address, { signal })).text();
  if (!buckets.includes("ListAllMyBucketsResult")) throw new Error("the server is not S3");
  const moto = await fetch(`${address}/moto-api/data.json`, { signal });
  await moto.body?.cancel();
  return { product: moto.ok ? "moto" : "gofakes3", version: "of unknown version" };
}

/** The first value of the first row of the reply to a statement. */
async function askPostgres({ host, port, tls, ...login }: Endpoint, database: string, statement: string) {
  const { Client } = await import("pg");
  const { username: user = "postgres", password } = login;
  const times = { connectionTimeoutMillis: PATIENCE_MS, query_timeout: PATIENCE_MS };
  const options = { user, ...(password !== undefined && { password }), ...(tls && { ssl: tls }), ...times };
  const client = new Client({ host, port, database, ...options });
  // A server that is not ready closes the connection.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return String(Object.values((await client.query(statement)).rows[0] ?? {})[0]);
  } finally {
    await client.end();
  }
}

export async function postgresInfo(endpoint: Endpoint): Promise<ServerInfo> {
  const version = await askPostgres(endpoint, "postgres", "SHOW server_version");
  return { product: "PostgreSQL", version: version.split(" ")[0] ?? "" };
}

export async function pgbouncerInfo(endpoint: Endpoint): Promise<ServerInfo> {
  const version = await askPostgres(endpoint, "pgbouncer", "SHOW VERSION");
  return { product: "PgBouncer", version: version.replace("PgBouncer ", "") };
}

export async function mariadbInfo({ host, port, tls, ...login }: Endpoint): Promise<ServerInfo> {
  const { createConnection } = await import("mysql2/promise");
  const { username: user = "root", password } = login;
  const ssl = tls && { ssl: { ...(tls.ca !== undefined && { ca: tls.ca }) } };
  const options = { user, ...(password !== undefined && { password }), ...ssl, connectTimeout: PATIENCE_MS };
  const client = await createConnection({ host, port, ...options });
  const [rows] = await client.query("SELECT VERSION() AS version").finally(() => client.destroy());
  const [{ version } = { version: "" }] = rows as { version: string }[];
  const [, maria] = /^([\d.]+)-MariaDB/i.exec(version) ?? [];
  return maria === undefined ? { product: "MySQL", version } : { product: "MariaDB", version: maria };
}
