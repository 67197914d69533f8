import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startServer } from "../servers/index.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

const run = promisify(execFile);
const prepareProgram = fileURLToPath(new URL("../servers/prepare.ts", import.meta.url));

afterEach(() => {
  vi.unstubAllEnvs();
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
