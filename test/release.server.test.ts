import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { packagesInOrder, problemsOf } from "../scripts/release.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");

test("packages follow their dependencies", () => {
  const names = packagesInOrder().map(({ name }) => name);
  expect(names[0]).toBe("@scrollback/store-core");
  expect(new Set(names).size).toBe(names.length);
  for (const { name, needs } of packagesInOrder()) {
    for (const needed of needs)
      expect(names.indexOf(needed), `${needed} before ${name}`).toBeLessThan(names.indexOf(name));
  }
});

const one = { name: "@scrollback/one", version: "1.2.0", folder: "one", needs: [] };

test.each([
  [
    "other versions",
    [one, { ...one, version: "1.3.0" }],
    "## [1.2.0] - 2026-11-22",
    "v1.2.0",
    ["different versions"],
  ],
  ["no section", [one], "## [1.1.0] - 2026-11-01", "v1.2.0", ["no section"]],
  ["a section without a date", [one], "## [1.2.0]", "v1.2.0", ["no section"]],
  [
    "a section of another version that looks alike",
    [one],
    "## [1x2.0] - 2026-11-22",
    "v1.2.0",
    ["no section"],
  ],
  ["only unreleased changes", [one], "## [Unreleased]", "v1.2.0", ["no section"]],
  ["another tag", [one], "## [1.2.0] - 2026-11-22", "v1.2.1", ["the tag is v1.2.1"]],
  ["no problem", [one], "## [1.2.0] - 2026-11-22", "v1.2.0", []],
] as const)("a release with %s is reported", (_, packages, changelog, tag, expected) => {
  const problems = problemsOf(packages, changelog, tag, false);
  expect(problems).toHaveLength(expected.length);
  expected.forEach((text, index) => {
    expect(problems[index]).toContain(text);
  });
});

test("a dry run accepts unreleased changes", () => {
  expect(problemsOf([one], "## [Unreleased]", undefined, true)).toEqual([]);
});

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
      ...process.env,
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
