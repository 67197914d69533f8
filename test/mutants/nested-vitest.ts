import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs a separate Vitest, for tests that must fail. Returns its output. */
export async function runVitest(
  config: string,
  args: readonly string[],
  { env = {}, timeout }: { env?: Record<string, string>; timeout: number },
): Promise<string> {
  const vitest = join(createRequire(import.meta.url).resolve("vitest/package.json"), "../vitest.mjs");
  const child = spawn(process.execPath, [vitest, "run", "--config", config, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout,
    // The nested Vitest must not treat itself as a worker of this one.
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

/** The outcome of a test: its outermost group, its title, its status, and the messages of its failures. */
export interface NestedOutcome {
  readonly backend: string;
  readonly title: string;
  readonly status: string;
  readonly messages: readonly string[];
}

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** Runs the tests of a configuration whose reporter is `json` in a separate Vitest. @throws if a file did not run. */
export async function outcomesOf(
  config: string,
  { env = {}, timeout }: { env?: Record<string, string>; timeout: number },
): Promise<NestedOutcome[]> {
  const directory = await mkdtemp(join(tmpdir(), "scrollback-mutants-"));
  const file = join(directory, "report.json");
  try {
    const output = await runVitest(config, ["--outputFile", file], {
      env: { ...env, TMPDIR: directory },
      timeout,
    });
    const text = await readFile(file, "utf8").catch(() => {
      throw new Error(`the mutants did not run: ${output}`);
    });
    const { testResults }: Report = JSON.parse(text);
    return testResults.flatMap(({ message, assertionResults }) => {
      if (assertionResults.length === 0) throw new Error(`a file did not run: ${message}`);
      return assertionResults.map(({ ancestorTitles, title, status, failureMessages = [] }) => ({
        backend: ancestorTitles[0] ?? "",
        title,
        status,
        messages: failureMessages,
      }));
    });
  } finally {
    await rm(directory, { recursive: true });
  }
}
