import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { userEnvironment } from "../conformance-tests/test/fixtures/pack-packages.ts";
import { packagesInOrder } from "../scripts/release.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");

test("the dry run packs and checks every package, and would publish each in order", async () => {
  // A registry without these packages: a dry run queries the published versions, and uploads nothing.
  const asked: string[] = [];
  const registry = createServer((request, response) => {
    asked.push(request.method ?? "");
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
  });
  await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = registry.address() as AddressInfo;
    const env = {
      ...userEnvironment(),
      npm_config_registry: `http://127.0.0.1:${port}/`,
      GITHUB_REF_TYPE: "branch",
    };
    const { stdout } = await run(process.execPath, ["scripts/release.ts"], { cwd: root, env });
    const names = packagesInOrder().map(({ name, version }) => `${name}@${version}`);
    expect(stdout.trim().split("\n")).toEqual([
      ...names.map((name) => `checked ${name}`),
      ...names.map((name) => `would publish ${name}`),
    ]);
    expect(new Set(asked)).toEqual(new Set(["GET"]));
  } finally {
    registry.close();
  }
}, 600_000);
