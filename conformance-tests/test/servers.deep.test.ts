import { once } from "node:events";
import { hostname } from "node:os";
import { join } from "node:path";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { ownerLabel } from "../servers/docker.ts";
import { startServer } from "../servers/index.ts";
import { run } from "../servers/programs.ts";
import { servers } from "../servers/servers.ts";
import { findImage } from "../servers/start.ts";
import { type RedisProcess, startRedisCluster, startRedisSentinel } from "./fixtures/redis-groups.ts";
import { connected, startInChild } from "./server-processes.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

/** Clients of both majors share what these tests use. */
const clients = { "ioredis 6": Redis, "ioredis 5": Redis5 as unknown as typeof Redis };
const clusterClients = { "ioredis 6": Cluster, "ioredis 5": Cluster5 as unknown as typeof Cluster };

const opened: { disconnect(): void }[] = [];
function tracked<C extends { disconnect(): void; on(event: "error", listener: () => void): unknown }>(
  client: C,
): C {
  client.on("error", () => undefined);
  opened.push(client);
  return client;
}
afterEach(() => {
  for (const client of opened.splice(0)) client.disconnect();
});

const infoField = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];

beforeAll(async () => {
  const program = join(import.meta.dirname, "../servers/prepare.ts");
  await run(process.execPath, [program, ...Object.keys(servers)]);
});

describe("a server", () => {
  test.each([
    ["redis", "Redis", /^8\./],
    ["redis-7", "Redis", /^7\./],
    ["redis-6.2", "Redis", /^6\.2\./],
    ["valkey", "Valkey", /^9\./],
  ] as const)("%s starts and reports its product and version", async (name, product, version) => {
    await using server = await startServer(name);
    expect(server).toMatchObject({ name, product, version: expect.stringMatching(version) });
    for (const Client of Object.values(clients)) {
      const client = tracked(new Client(server.url));
      expect(await client.ping()).toBe("PONG");
      const info = await client.info("server");
      expect(infoField(info, product === "Valkey" ? "valkey_version" : "redis_version")).toBe(server.version);
    }
  });

  // An engine that can pull runs the product itself.
  test.each([
    ["mongodb", /^(MongoDB|FerretDB)$/],
    ["dynamodb", /^DynamoDB Local$/],
    ["postgres", /^PostgreSQL$/],
    ["postgres-13", /^PostgreSQL$/],
    ["postgres-15", /^PostgreSQL$/],
    ["pgbouncer", /^PgBouncer$/],
    ["mariadb", /^MariaDB$/],
  ] as const)("%s starts and reports its product and version", async (name, product) => {
    await using server = await startServer(name);
    expect(server.product).toMatch(product);
    expect(server.version).toMatch(/^\d+\.\d+/);
    expect(await connected(server.port)).toBe(true);
  });

  test("s3 starts and reports its product", async () => {
    await using server = await startServer("s3");
    expect(server.product).toMatch(/^(moto|gofakes3)$/);
    expect(await connected(server.port)).toBe(true);
  });

  test("can be removed while paused, and more than once", async () => {
    const server = await startServer("redis");
    await server.pause();
    await server.stop();
    await server.stop();
    await expect(connected(server.port)).resolves.toBe(false);
  });

  test("takes arguments, a password and access rules", async () => {
    const rules = ["--user", "app", "on", ">p@ss", "~chat:*", "+@read", "+@connection"];
    await using server = await startServer("redis", {
      password: "s e/c",
      args: ["--maxmemory", "5mb", ...rules],
    });
    const client = tracked(new Redis(server.url));
    expect(await client.config("GET", "maxmemory")).toEqual(["maxmemory", `${5 * 1024 * 1024}`]);
    expect(await server.exec(["redis-cli", "PING"])).toContain("NOAUTH");
    const { host, port } = server;
    const login = { username: "app", password: "p@ss", enableReadyCheck: false };
    const app = tracked(new Redis({ host, port, ...login }));
    expect(await app.get("chat:1")).toBeNull();
    await expect(app.set("chat:1", "x")).rejects.toThrow("NOPERM");
  });

  test("speaks TLS with a certificate that clients can check", async () => {
    await using server = await startServer("redis", { tls: true, password: "secret" });
    expect(server.url).toMatch(/^rediss:/);
    for (const Client of Object.values(clients)) {
      expect(await tracked(new Client(server.url, { tls: { ...server.tls } })).ping()).toBe("PONG");
    }
    const distrustful = tracked(new Redis(server.url, { retryStrategy: null, maxRetriesPerRequest: 0 }));
    const [error] = await once(distrustful, "error");
    expect(error).toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  });

  test("that a process left behind is removed at the next start", async () => {
    const image = await findImage("redis");
    const create = async (owner: string) =>
      (await run("docker", ["create", "--label", `${ownerLabel}=${owner}`, image, "true"])).trim();
    // No process has such a high number; this process's parent is still running.
    const left = await create(`${hostname()}/999999999/test`);
    const used = await create(`${hostname()}/${process.ppid}/test`);
    try {
      const { child } = await startInChild();
      child.kill();
      await expect(run("docker", ["inspect", left])).rejects.toThrow(/no such/i);
      await expect(run("docker", ["inspect", used])).resolves.toContain(used);
    } finally {
      await run("docker", ["rm", used]);
    }
  });
});

describe("a cluster", () => {
  test("is reachable from outside, distributes keys over its nodes, and recovers after a node crash", async () => {
    await using server = await startRedisCluster();
    expect(server).toMatchObject({ product: "Redis", version: expect.stringMatching(/^8\./) });
    for (const [name, Client] of Object.entries(clusterClients)) {
      const client = tracked(new Client(server.startupNodes, { natMap: server.natMap }));
      for (let key = 0; key < 30; key++) await client.set(`${name}:${key}`, "x");
    }
    const sizes = await Promise.all(server.nodes.map(async (node) => Number(await node.cli("DBSIZE"))));
    expect(sizes.every((size) => size > 0)).toBe(true);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(60);

    const [first] = server.nodes;
    await first.kill();
    await expect(first.cli("PING")).rejects.toThrow("Connection refused");
    await first.start();
    await server.untilWhole();
    const client = tracked(new Cluster(server.startupNodes, { natMap: server.natMap }));
    for (let key = 0; key < 30; key++) await client.set(`${key}`, "x");
  });
});

describe("a sentinel group", () => {
  test("fails over on demand and when the master crashes, and clients follow", async () => {
    await using server = await startRedisSentinel();
    const [first, second] = server.nodes;
    const followers = Object.values(clients).map((Client) => tracked(new Client(server.connection)));
    const expectWritesOn = async (node: RedisProcess, value: string): Promise<void> => {
      for (const [index, client] of followers.entries()) {
        await client.set(`${index}`, value);
        expect(await node.cli("GET", `${index}`)).toBe(`${value}\n`);
      }
      expect(await server.master()).toBe(node);
    };
    await expectWritesOn(first, "before");
    await server.failover();
    await expectWritesOn(second, "after a failover");
    await second.kill();
    await expectWritesOn(first, "after a crash");
  });
});
