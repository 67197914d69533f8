import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

/** Runs a Vitest of its own, for tests that are to fail. Returns what it printed. */
export async function runVitest(
  config: string,
  args: readonly string[],
  { env = {}, timeout }: { env?: Record<string, string>; timeout: number },
): Promise<string> {
  const vitest = join(createRequire(import.meta.url).resolve("vitest/package.json"), "../vitest.mjs");
  const child = spawn(process.execPath, [vitest, "run", "--config", config, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout,
    // It is not to take itself for a worker of this one.
    env: {
      ...process.env,
      VITEST: undefined,
      VITEST_POOL_ID: undefined,
      VITEST_WORKER_ID: undefined,
      NO_COLOR: "1",
      ...env,
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return output;
}
