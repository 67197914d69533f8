import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { startServer } from "../servers/index.ts";
import { alone } from "../servers/lock.ts";
import { canInstall } from "../servers/programs.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

const run = promisify(execFile);
const prepareProgram = fileURLToPath(new URL("../servers/prepare.ts", import.meta.url));

beforeAll(async () => {
  await run(process.execPath, [prepareProgram, "redis", "valkey"]);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe("preparing", () => {
  test("again takes less than 5 seconds, also in two processes", async () => {
    const start = performance.now();
    const outputs = await Promise.all(
      [1, 2].map(() => run(process.execPath, [prepareProgram, "redis", "valkey"])),
    );
    expect(performance.now() - start).toBeLessThan(5_000);
    for (const { stderr } of outputs)
      expect(stderr).toMatch(/^servers: redis runs on \S+\nservers: valkey runs on \S+\n$/);
  });

  test("an unknown server fails with the names of the known ones", async () => {
    const failed = run(process.execPath, [prepareProgram, "redis", "rediss"]);
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("known servers are redis, redis-7"),
    });
  });

  // The lock is for building from packages, which is possible only where packages can be installed.
  test.runIf(canInstall())("runs in one process at a time", async () => {
    const steps: string[] = [];
    const work = async (name: string): Promise<void> => {
      steps.push(name);
      await sleep(50);
      steps.push(name);
    };
    await Promise.all(["a", "b", "c"].map((name) => alone(() => work(name))));
    expect(steps.filter((name, index) => index % 2 === 0 && steps[index + 1] === name)).toHaveLength(3);
    await expect(alone(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    await expect(alone(async () => "free again")).resolves.toBe("free again");
  });
});

describe("a server given by URL", () => {
  test("is used unchanged, and identified by its reply", async () => {
    await using own = await startServer("redis", { password: "secret" });
    vi.stubEnv("SCROLLBACK_VALKEY_URL", own.url);
    const given = await startServer("valkey");
    expect(given).toMatchObject({
      name: "valkey",
      product: "Redis",
      version: own.version,
      url: own.url,
      port: own.port,
    });
    const { stderr } = await run(process.execPath, [prepareProgram, "valkey"]);
    expect(stderr).toBe(`servers: valkey is the Redis ${own.version} given by SCROLLBACK_VALKEY_URL\n`);
    for (const fault of ["kill", "start", "pause", "unpause"] as const) {
      await expect(given[fault]()).rejects.toThrow("SCROLLBACK_VALKEY_URL is not ours");
    }
    await expect(given.exec(["true"])).rejects.toThrow("SCROLLBACK_VALKEY_URL is not ours");
    await expect(startServer("valkey", { tls: true })).rejects.toThrow("unset it for this test");
    await given.stop();
    expect(await own.exec(["redis-cli", "--no-auth-warning", "-a", "secret", "PING"])).toBe("PONG\n");
  });

  test.each([
    ["redis://:hunter2@localhost:1", "does not answer"],
    ["http://:hunter2@localhost", "must be the URL of a server of this kind, such as redis://localhost:6379"],
    [":hunter2", "must be the URL of a server of this kind"],
  ])("that is invalid or unreachable fails without showing its secret: %s", async (url, message) => {
    vi.stubEnv("SCROLLBACK_REDIS_6_2_URL", url);
    const error: unknown = await startServer("redis-6.2").catch((reason: unknown) => reason);
    expect(String(error)).toContain(`SCROLLBACK_REDIS_6_2_URL ${message}`);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("hunter2");
  });
});
