import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const run = promisify(execFile);
/** The versions that docs/how-to/deploy.md names. They are not dependencies: they take 490 MB. */
const VERSIONS = { bun: "1.4.5", deno: "2.9.6", miniflare: "4.20260730.0" };
/** In 2025-09-15 `process` became Node's, after 2026-01-01 timers did. */
const COMPATIBILITY_DATES = [
  "2024-09-23",
  "2025-08-01",
  "2025-09-15",
  "2026-01-01",
  "2026-04-01",
  "2026-07-30",
];
const OUTCOME = {
  stored: "Hello",
  statuses: [200, 200],
  roles: ["user", "assistant"],
  last: "Line 8.",
};
/** Some packages of the AI SDK call `require`, which an ESM file does not have. */
const banner = {
  js: 'import { createRequire as cr } from "node:module"; const require = cr("file:///bundle.mjs");',
};

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-runtimes-"));
  await writeFile(join(folder, "package.json"), "{}");
  const names = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`);
  // Without scripts: these only link the programs, which are in packages for each platform.
  await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...names], { cwd: folder });
  for (const [program, conditions] of [
    ["memory", ["workerd", "worker", "browser"]],
    ["sqlite", []],
  ] as const)
    await build({
      entryPoints: [join(import.meta.dirname, "runtimes", `${program}.ts`)],
      outfile: join(folder, `${program}.mjs`),
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node22",
      conditions: ["scrollback-source", ...conditions],
      logLevel: "error",
      banner,
    });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Worker {
  dispatchFetch(url: string): Promise<{ status: number; text(): Promise<string> }>;
  dispose(): Promise<void>;
}

test.each(COMPATIBILITY_DATES)(
  "chats in memory on Cloudflare Workers with nodejs_compat, compatibility date %s",
  async (date) => {
    const { Miniflare } = createRequire(join(folder, "package.json"))("miniflare") as {
      Miniflare: new (options: object) => Worker;
    };
    const worker = new Miniflare({
      modules: [
        {
          type: "ESModule",
          path: "memory.mjs",
          contents: await readFile(join(folder, "memory.mjs"), "utf8"),
        },
      ],
      compatibilityDate: date,
      compatibilityFlags: ["nodejs_compat"],
    });
    try {
      const response = await worker.dispatchFetch("http://localhost/");
      const text = await response.text();
      expect([response.status, text]).toEqual([200, JSON.stringify(OUTCOME)]);
    } finally {
      await worker.dispose();
    }
  },
);

/** The binary of the machine's platform that runs: an install may have several, for other processors and C libraries. */
async function programOf(pattern: string): Promise<string> {
  for (const path of globSync(pattern, { cwd: folder })) {
    const program = join(folder, path);
    await chmod(program, 0o755);
    const isRunning = await run(program, ["--version"]).catch(() => undefined);
    if (isRunning) return program;
  }
  return expect.unreachable(`no program ${pattern}`);
}

test.each([
  ["Bun", "node_modules/@oven/*/bin/bun", []],
  ["Deno", "node_modules/@deno/*/deno", ["run", "--allow-all"]],
])("chats in memory and in SQLite on %s", async (name, pattern, args) => {
  const program = await programOf(pattern);
  const env = { ...process.env, NODE_OPTIONS: "" };
  const { stdout } = await run(program, [...args, "sqlite.mjs", join(folder, `${name}.db`)], {
    cwd: folder,
    env,
  });
  expect(JSON.parse(stdout)).toEqual([OUTCOME, OUTCOME]);
});
