import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { spawnServer } from "../src/index.ts";

const program = join(import.meta.dirname, "spawned-server/server.ts");
let folder: string;
let port: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-spawned-"));
  port = await freePort();
});
afterEach(() => rm(folder, { recursive: true }));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: free } = server.address() as AddressInfo;
  server.close();
  return free;
}

const command = () => [process.execPath, program, `${port}`, join(folder, "data")] as const;
const ask = async (text = "", timeoutMs = 5_000) => {
  const signal = AbortSignal.timeout(timeoutMs);
  return await (await fetch(`http://127.0.0.1:${port}/${text}`, { signal })).text();
};
const start = () => spawnServer({ command: command(), answers: () => ask() });

describe("a spawned server", () => {
  test("replies once it is started, and keeps its files after a kill", async () => {
    await using server = await start();
    await ask("a");
    await server.kill();
    await expect(ask()).rejects.toThrow();
    await server.kill();
    await server.start();
    expect(await ask("b")).toBe("ab");
    await expect(server.start()).rejects.toThrow("running");
  });

  test("does not reply while paused, nor do its child processes", async () => {
    await using server = await start();
    await server.pause();
    // The reply comes from a child process of the server, in a separate session.
    const late = ask("a");
    await expect(ask("", 300)).rejects.toThrow();
    await server.unpause();
    expect(await late).toBe("a");
    await server.pause();
    await server.kill();
    await expect(ask()).rejects.toThrow();
    await expect(server.pause()).rejects.toThrow("not running");
  });

  test("that does not start fails with its output", async () => {
    const failing = spawnServer({
      command: [process.execPath, "--eval", "console.error('the disk is on fire'); process.exit(3)"],
      answers: () => ask(),
    });
    await expect(failing).rejects.toThrow(/did not start: it ended\nthe disk is on fire/);
    const absent = spawnServer({ command: ["/no/such/program"], answers: () => ask() });
    await expect(absent).rejects.toThrow("ENOENT");
    const silent = spawnServer({
      command: [process.execPath, "--eval", "setInterval(() => {}, 1e6)"],
      answers: () => ask(),
      patienceMs: 300,
    });
    await expect(silent).rejects.toThrow("did not start: TypeError");
  });

  test("ends with the process that started it", async () => {
    const index = new URL("../src/index.ts", import.meta.url).href;
    const parent = spawn(process.execPath, [
      "--input-type=module",
      "--eval",
      `import { spawnServer } from ${JSON.stringify(new URL("../src/faults/spawned-server.ts", index).href)};
      const answers = () => fetch("http://127.0.0.1:${port}/");
      await spawnServer({ command: ${JSON.stringify(command())}, answers });
      process.exit(0);`,
    ]);
    const [code] = await once(parent, "exit");
    expect(code).toBe(0);
    await expect
      .poll(
        () =>
          ask().then(
            () => true,
            () => false,
          ),
        { timeout: 5_000 },
      )
      .toBe(false);
  });
});
