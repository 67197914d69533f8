import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { alone } from "../servers/lock.ts";
import { canInstall } from "../servers/programs.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

const run = promisify(execFile);
const prepareProgram = fileURLToPath(new URL("../servers/prepare.ts", import.meta.url));

beforeAll(async () => {
  await run(process.execPath, [prepareProgram, "redis", "valkey"]);
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
