import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { userEnvironment } from "../../../conformance-tests/test/fixtures/pack-packages.ts";

const run = promisify(execFile);
const programOf = (folder: string) =>
  createRequire(join(folder, "package.json")).resolve("next/dist/bin/next");
/** DynamoDB's client signs its requests with these, also for a local server. */
export const credentials = { AWS_ACCESS_KEY_ID: "none", AWS_SECRET_ACCESS_KEY: "none" };
function environment(): NodeJS.ProcessEnv {
  // Vitest's own value would make a build for tests.
  const { NODE_ENV: _, ...inherited } = userEnvironment();
  return { ...inherited, ...credentials, NEXT_TELEMETRY_DISABLED: "1" };
}

/** `next build` in a folder. Returns what it printed. */
export async function buildApp(folder: string, ...flags: string[]): Promise<string> {
  const args = [programOf(folder), "build", ...flags];
  const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env: environment() }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`next build failed\n${error.stdout}${error.stderr}`);
    },
  );
  return stdout + stderr;
}

export interface StartedApp extends AsyncDisposable {
  readonly url: string;
  /** The output so far. */
  readonly output: () => string;
}

/** `next start` of a built app, on any free port. */
export async function startApp(folder: string, databaseUrl: string): Promise<StartedApp> {
  const args = [programOf(folder), "start", "--port", "0", "--hostname", "127.0.0.1"];
  const env = { ...environment(), DATABASE_URL: databaseUrl };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  for (;;) {
    const [, url] = /(http:\/\/127\.0\.0\.1:\d+).*Ready/s.exec(output) ?? [];
    if (child.exitCode !== null) throw new Error(`next start ended:\n${output}`);
    if (url === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    return {
      url,
      output: () => output,
      async [Symbol.asyncDispose]() {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill("SIGKILL");
        await once(child, "exit");
      },
    };
  }
}
