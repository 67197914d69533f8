import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startServer } from "../servers/index.ts";
import { connected, startInChild } from "./server-processes.ts";

// What the other tests rely on. servers.deep.test.ts has every server, every option, clusters and sentinels.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

const opened: Redis[] = [];
function tracked(client: Redis): Redis {
  client.on("error", () => undefined);
  opened.push(client);
  return client;
}
afterEach(() => {
  for (const client of opened.splice(0)) client.disconnect();
});

describe("a server", () => {
  test("restarts after a crash on the same port with the same files", async () => {
    await using server = await startServer("redis", {
      args: ["--appendonly", "yes", "--appendfsync", "always"],
    });
    const { port, url } = server;
    const client = tracked(new Redis(url, { retryStrategy: null }));
    await client.set("kept", "yes");
    const closed = once(client, "end");
    await server.kill();
    await closed;
    await expect(connected(port)).resolves.toBe(false);
    await server.start();
    expect(server.port).toBe(port);
    expect(await tracked(new Redis(url)).get("kept")).toBe("yes");
  });

  test("does not reply while paused, and continues afterwards", async () => {
    await using server = await startServer("redis");
    const client = tracked(new Redis(server.url));
    await client.ping();
    await server.pause();
    const answer = client.ping();
    expect(await Promise.race([answer, sleep(300, "nothing")])).toBe("nothing");
    await server.unpause();
    expect(await answer).toBe("PONG");
  });

  test("that cannot start fails at once with its log", async () => {
    const start = performance.now();
    await expect(startServer("redis", { args: ["--maxmemory", "plenty"] })).rejects.toThrow(
      "argument must be a memory value",
    );
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test("does not outlive the process that started it, not even a killed one", async () => {
    const { child, port } = await startInChild();
    expect(await connected(port)).toBe(true);
    child.kill("SIGKILL");
    await expect.poll(() => connected(port)).toBe(false);
  });
});
