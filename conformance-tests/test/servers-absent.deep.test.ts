import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const waysOut = [
  "start a Docker engine that can pull redis:7",
  "SCROLLBACK_REDIS_7_IMAGE=",
  "SCROLLBACK_REDIS_7_URL=redis://localhost:6379",
  "as root on Debian: run node conformance-tests/servers/prepare.ts redis-7",
];
test("startServer without an engine fails with the options, and installs and starts nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-no-engine-"));
  const called = join(folder, "called");
  for (const program of ["apt-get", "dockerd", "debootstrap", "flock"]) {
    const script = `#!/bin/sh\necho ${program} >> ${called}\nexit 1\n`;
    await writeFile(join(folder, program), script, { mode: 0o755 });
  }
  const script = `const servers = await import("${new URL(`../servers/index.ts`, import.meta.url).href}");
      await servers.startServer("redis-7").catch((error) => console.log(error.message));`;
  const env = {
    PATH: [folder, process.env.PATH].join(delimiter),
    HOME: folder,
    DOCKER_HOST: "tcp://127.0.0.1:1",
  };
  try {
    const child = run(process.execPath, ["--input-type=module", "--eval", script], {
      env,
      timeout: 60_000,
    });
    const { stdout, stderr } = await child;
    expect(stdout).toContain('no server "redis-7" to test on: no Docker engine answers');
    for (const way of waysOut) expect(stdout).toContain(way);
    expect({ stderr, isCalled: existsSync(called) }).toEqual({ stderr: "", isCalled: false });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a server that cannot be prepared does not hide the others", async () => {
  const prepareProgram = fileURLToPath(new URL("../servers/prepare.ts", import.meta.url));
  const env = { ...process.env, SCROLLBACK_REDIS_URL: "redis://localhost:1" };
  await expect(run(process.execPath, [prepareProgram, "redis", "valkey"], { env })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^servers: valkey runs on \S+\nservers: redis failed: .*SCROLLBACK_REDIS_URL does not answer/m,
    ),
  });
});
