/**
 * `node scripts/suite-on-runtime.ts bun|deno [arguments of Vitest]` runs the suite and the chats' contract on that runtime, by
 * vitest.runtimes.config.ts. The runtime is installed from npm into a temporary folder. The servers are started here, by Node.js, and
 * given to the tests by URL.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@scrollback/conformance/servers";
import { installRuntimes, programOf, type RuntimeName } from "./runtimes.ts";

const root = join(import.meta.dirname, "..");
const commands: Record<RuntimeName, readonly string[]> = {
  bun: ["--bun"],
  deno: ["run", "--allow-all"],
};

const [runtime = "", ...rest] = process.argv.slice(2);
if (!(runtime === "bun" || runtime === "deno")) {
  console.error("usage: node scripts/suite-on-runtime.ts bun|deno [arguments of Vitest]");
  process.exit(2);
}
const folder = await mkdtemp(join(tmpdir(), "scrollback-runtime-"));
try {
  await installRuntimes(folder, [runtime]);
  await using redis = await startServer("redis");
  await using postgres = await startServer("postgres");
  const vitest = [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "--config",
    "vitest.runtimes.config.ts",
  ];
  const child = spawn(await programOf(folder, runtime), [...commands[runtime], ...vitest, ...rest], {
    cwd: root,
    env: {
      ...process.env,
      NODE_OPTIONS: "",
      SCROLLBACK_REDIS_URL: redis.url,
      SCROLLBACK_POSTGRES_URL: postgres.url,
    },
    stdio: "inherit",
  });
  process.exitCode = await new Promise<number>((resolve) => {
    child.on("close", (code) => resolve(code ?? 1));
  });
} finally {
  await rm(folder, { recursive: true, force: true });
}
