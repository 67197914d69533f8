import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { getContainerRuntimeClient } from "testcontainers";
import { afterEach, expect, test, vi } from "vitest";
import * as engine from "../servers/engine.ts";
import { findImage } from "../servers/image.ts";
import { planImages, prepareImage } from "../servers/prepare-image.ts";
import * as programs from "../servers/programs.ts";
import { servers } from "../servers/servers.ts";
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

test.each([
  ["startServer", "index"],
  ["startRedisCluster", "internal"],
  ["startRedisSentinel", "internal"],
])(
  "%s without an engine fails with the options, and installs and starts nothing",
  async (start, entryPoint) => {
    const folder = await mkdtemp(join(tmpdir(), "scrollback-no-engine-"));
    const called = join(folder, "called");
    for (const program of ["apt-get", "dockerd", "docker", "debootstrap", "flock"]) {
      const script = `#!/bin/sh\necho ${program} >> ${called}\nexit 1\n`;
      await writeFile(join(folder, program), script, { mode: 0o755 });
    }
    // On a platform that Testcontainers does not know, it looks for an engine only where DOCKER_HOST says.
    const script = `Object.defineProperty(process, "platform", { value: "none" });
      const servers = await import("${new URL(`../servers/${entryPoint}.ts`, import.meta.url).href}");
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

test("the preparation starts an engine if none replies, and builds a stand-in for an image that cannot be pulled", async () => {
  vi.mocked(programs.canInstall).mockReturnValue(true);
  vi.mocked(programs.hasProgram).mockReturnValue(true);
  vi.mocked(programs.installPrograms).mockResolvedValue(undefined);
  vi.mocked(engine.findEngine).mockResolvedValueOnce(undefined);
  vi.mocked(engine.startEngine).mockImplementationOnce(getContainerRuntimeClient);
  vi.mocked(standIn.buildStandIn).mockResolvedValueOnce(undefined);
  await expect(prepareImage(unavailable)).rejects.toThrow("cannot pull localhost:1/nothing:here");
  expect(engine.startEngine).toHaveBeenCalledOnce();
  expect(programs.installPrograms).toHaveBeenCalledExactlyOnceWith(standIn.basePrograms);
  expect(standIn.buildStandIn).toHaveBeenCalledWith(unavailable);
});

test("without an engine and a registry, the preparation installs what all servers need at once, and waits for no engine", async () => {
  vi.mocked(programs.canInstall).mockReturnValue(true);
  vi.mocked(programs.hasProgram).mockReturnValue(false);
  vi.mocked(programs.installPrograms).mockResolvedValue(undefined);
  vi.mocked(engine.findEngine).mockResolvedValueOnce(undefined);
  vi.mocked(engine.registryRefusal).mockResolvedValue("it does not answer");
  const plan = await planImages([servers.dynamodb, servers.postgres], { openssl: "openssl" });
  expect([...plan]).toEqual([
    ["dynamodb", "it does not answer"],
    ["postgres", "it does not answer"],
  ]);
  expect(programs.installPrograms).toHaveBeenCalledExactlyOnceWith({
    ...engine.enginePrograms,
    openssl: "openssl",
    debootstrap: "debootstrap",
    java: "default-jre-headless",
    mvn: "maven",
  });
  expect(engine.startEngine).not.toHaveBeenCalled();
});

test("the preparation installs nothing where it cannot install packages", async () => {
  vi.mocked(programs.canInstall).mockReturnValue(false);
  vi.mocked(engine.findEngine).mockResolvedValueOnce(undefined);
  await expect(prepareImage(servers["redis-7"])).rejects.toThrow("no Docker engine answers");
  expect(engine.startEngine).not.toHaveBeenCalled();
});
