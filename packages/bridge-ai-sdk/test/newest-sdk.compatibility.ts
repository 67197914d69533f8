import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
/** What the bridge's tests import, of this repository. */
const packages = ["store-core", "collections", "chats"];
/** Those of what is counted stand on another package's tests. */
const others = /^costs\.test\.ts$|\.server\.test\.ts$|\.compatibility\.ts$/;

test("the bridge's tests pass with the newest AI SDK of its peer range", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-newest-sdk-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ name: "newest", private: true, type: "module" }),
  );
  const tarballs: string[] = [];
  for (const name of packages) {
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], {
      cwd: join(root, "packages", name),
    });
    const [packed] = Object.values(JSON.parse(stdout)) as [{ filename: string }];
    tarballs.push(join(folder, packed.filename));
  }
  const manifest = JSON.parse(await readFile(join(import.meta.dirname, "../package.json"), "utf8"));
  const { ai, "resumable-stream": streams } = manifest.peerDependencies;
  const { zod, ioredis } = manifest.devDependencies;
  const clients = [`ai@${ai}`, `resumable-stream@${streams}`, `ioredis@${ioredis}`, `zod@${zod}`, "vitest@5"];
  await run("npm", ["install", "--no-audit", "--no-fund", ...tarballs, ...clients], { cwd: folder });
  await cp(join(import.meta.dirname, "../src"), join(folder, "src"), { recursive: true });
  for (const name of await readdir(import.meta.dirname))
    if (!others.test(name)) await cp(join(import.meta.dirname, name), join(folder, "test", name));

  const file = join(folder, "results.json");
  await run(
    process.execPath,
    [
      "node_modules/vitest/vitest.mjs",
      "run",
      "--reporter=json",
      `--outputFile=${file}`,
      "--testTimeout=60000",
    ],
    // It is not to take itself for a worker of this one.
    {
      cwd: folder,
      env: { ...process.env, VITEST: undefined, VITEST_POOL_ID: undefined, VITEST_WORKER_ID: undefined },
    },
  ).catch(() => undefined);
  const results = JSON.parse(await readFile(file, "utf8")) as {
    numPassedTests: number;
    testResults: { assertionResults: { status: string; fullName: string }[] }[];
  };
  const failed = results.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .flatMap(({ status, fullName }) => (status === "failed" ? fullName : []));
  expect(failed).toEqual([]);
  expect(results.numPassedTests).toBeGreaterThan(90);
}, 600_000);
