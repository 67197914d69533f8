import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { getContainerRuntimeClient } from "testcontainers";
import { afterEach, expect, test, vi } from "vitest";
import * as engine from "../servers/engine.ts";
import { findImage } from "../servers/image.ts";
import { servers } from "../servers/index.ts";
import { prepareImage } from "../servers/prepare-image.ts";
import * as programs from "../servers/programs.ts";
import * as standIn from "../servers/stand-in.ts";

// No test installs, starts or builds anything; everything else is unchanged.
vi.mock("../servers/programs.ts", { spy: true });
vi.mock("../servers/engine.ts", { spy: true });
vi.mock("../servers/stand-in.ts", { spy: true });
afterEach(() => {
  vi.resetAllMocks();
});

const run = promisify(execFile);
const waysOut = [
  "start a Docker engine that can pull redis:7",
  "SCROLLBACK_REDIS_7_IMAGE=",
  "SCROLLBACK_REDIS_7_URL=redis://localhost:6379",
  "as root on Debian: run node conformance-tests/servers/prepare.ts redis-7",
];
/** An image that cannot be pulled, of a suite from which no stand-in of this server was built. */
const unavailable = {
  ...servers["redis-7"],
  image: "localhost:1/nothing:here",
  standIn: { suite: "trixie" },
} as const;

test.each(["startServer", "startRedisCluster", "startRedisSentinel"])(
  "%s without an engine fails with the options, and installs and starts nothing",
  async (start) => {
    const folder = await mkdtemp(join(tmpdir(), "scrollback-no-engine-"));
    const called = join(folder, "called");
    for (const program of ["apt-get", "dockerd", "docker", "debootstrap", "flock"]) {
      const script = `#!/bin/sh\necho ${program} >> ${called}\nexit 1\n`;
      await writeFile(join(folder, program), script, { mode: 0o755 });
    }
    // On a platform that Testcontainers does not know, it looks for an engine only where DOCKER_HOST says.
    const script = `Object.defineProperty(process, "platform", { value: "none" });
      const servers = await import("${new URL("../servers/index.ts", import.meta.url).href}");
      await servers.${start}("redis-7").catch((error) => console.log(error.message));`;
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
  },
);

test("without an image, the error gives the engine's reason and lists the options, and nothing is built", async () => {
  await expect(findImage(unavailable)).rejects.toThrow(
    /cannot pull localhost:1\/nothing:here: .*\. Do one of the following:\n/,
  );
  expect(standIn.buildStandIn).not.toHaveBeenCalled();
});

test("the preparation starts an engine if none replies, and builds a stand-in for an image that cannot be pulled", async () => {
  vi.mocked(programs.canInstall).mockReturnValue(true);
  vi.mocked(engine.findEngine).mockResolvedValueOnce(undefined).mockResolvedValueOnce(undefined);
  vi.mocked(engine.startEngine).mockImplementationOnce(getContainerRuntimeClient);
  vi.mocked(standIn.buildStandIn).mockResolvedValueOnce(undefined);
  await expect(prepareImage(unavailable)).rejects.toThrow("cannot pull localhost:1/nothing:here");
  expect(engine.startEngine).toHaveBeenCalledOnce();
  expect(standIn.buildStandIn).toHaveBeenCalledWith(unavailable);
});

test("the preparation installs nothing where it cannot install packages", async () => {
  vi.mocked(programs.canInstall).mockReturnValue(false);
  vi.mocked(engine.findEngine).mockResolvedValueOnce(undefined);
  await expect(prepareImage(servers["redis-7"])).rejects.toThrow("no Docker engine answers");
  expect(engine.startEngine).not.toHaveBeenCalled();
});
