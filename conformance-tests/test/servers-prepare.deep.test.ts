import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test, vi } from "vitest";

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
});
