import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installRuntimes, programOf } from "../scripts/runtimes.ts";

const run = promisify(execFile);
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
  await installRuntimes(folder, ["bun", "deno", "miniflare"]);
  const workers = ["workerd", "worker", "browser"];
  for (const [program, outfile, options] of [
    ["memory", "memory", { platform: "node", conditions: workers, banner }],
    // Only a program that calls `nodeListener` loads Node's server.
    ["memory", "web", { platform: "browser", conditions: workers, external: ["srvx/node"] }],
    [
      "cloudflare",
      "cloudflare",
      { platform: "browser", conditions: workers, external: ["srvx/node", "cloudflare:workers"] },
    ],
    ["sqlite", "sqlite", { platform: "node", conditions: [], banner }],
  ] as const)
    await build({
      entryPoints: [join(import.meta.dirname, "runtimes", `${program}.ts`)],
      outfile: join(folder, `${outfile}.mjs`),
      bundle: true,
      format: "esm",
      target: "node22",
      logLevel: "error",
      ...options,
      conditions: ["scrollback-source", ...options.conditions],
      external: "external" in options ? [...options.external] : [],
    });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Worker {
  dispatchFetch(url: string): Promise<{ status: number; text(): Promise<string> }>;
  dispose(): Promise<void>;
}

test.each([
  ["memory", "nodejs_compat", [OUTCOME]],
  ["web", "no flag", [OUTCOME]],
  ["cloudflare", "no flag", [OUTCOME, OUTCOME]],
] as const)("chats on Cloudflare Workers: %s.mjs with %s", async (program, flag, outcomes) => {
  const { Miniflare } = createRequire(join(folder, "package.json"))("miniflare") as {
    Miniflare: new (options: object) => Worker;
  };
  const contents = await readFile(join(folder, `${program}.mjs`), "utf8");
  for (const date of COMPATIBILITY_DATES) {
    const worker = new Miniflare({
      modules: [{ type: "ESModule", path: `${program}.mjs`, contents }],
      compatibilityDate: date,
      compatibilityFlags: flag === "no flag" ? [] : [flag],
      ...(program === "cloudflare" && {
        d1Databases: ["DB"],
        durableObjects: { OBJECTS: { className: "Chats", useSQLite: true } },
      }),
    });
    try {
      const response = await worker.dispatchFetch("http://localhost/");
      const text = await response.text();
      expect([response.status, text], date).toEqual([200, JSON.stringify(outcomes)]);
    } finally {
      await worker.dispose();
    }
  }
});

test.each([
  ["bun", []],
  ["deno", ["run", "--allow-all"]],
] as const)("chats in memory and in SQLite on %s", async (name, args) => {
  const program = await programOf(folder, name);
  const env = { ...process.env, NODE_OPTIONS: "" };
  const { stdout } = await run(program, [...args, "sqlite.mjs", join(folder, `${name}.db`)], {
    cwd: folder,
    env,
  });
  expect(JSON.parse(stdout)).toEqual([OUTCOME, OUTCOME]);
});
