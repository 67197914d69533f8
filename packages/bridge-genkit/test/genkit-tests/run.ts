import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The results of Genkit's tests on the stores of a URL. */
export interface GenkitResult {
  readonly passed: number;
  readonly failed: readonly string[];
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Runs the tests in Genkit's package in a separate Vitest. @throws if they did not run. */
export async function runGenkitTests(url: string): Promise<GenkitResult> {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-genkit-"));
  const file = join(folder, "report.json");
  try {
    const vitest = join(createRequire(import.meta.url).resolve("vitest/package.json"), "../vitest.mjs");
    const config = join(import.meta.dirname, "vitest.config.ts");
    const child = spawn(process.execPath, [vitest, "run", "--config", config, "--outputFile", file], {
      stdio: ["ignore", "pipe", "pipe"],
      // Without these variables, the new Vitest does not behave as a worker of this one.
      env: {
        ...process.env,
        ...{ VITEST: undefined, VITEST_POOL_ID: undefined, VITEST_WORKER_ID: undefined },
        SCROLLBACK_STORES: url,
      },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
    const text = await readFile(file, "utf8").catch(() => {
      throw new Error(`the tests of Genkit did not run: ${output}`);
    });
    const { numPassedTests: passed, testResults }: Report = JSON.parse(text);
    const failed = testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status !== "passed")
      .map(({ fullName, status }) => `${status}: ${fullName}`);
    return { passed, failed };
  } finally {
    await rm(folder, { recursive: true });
  }
}
