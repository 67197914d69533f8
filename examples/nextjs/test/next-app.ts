import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { userEnvironment } from "../../../conformance-tests/test/fixtures/pack-packages.ts";
import { type ServerProcess, startServer } from "../../test/server-process.ts";

const run = promisify(execFile);
const programOf = (folder: string) =>
  createRequire(join(folder, "package.json")).resolve("next/dist/bin/next");
/** DynamoDB's client signs its requests with these, also for a local server. */
export const credentials = { AWS_ACCESS_KEY_ID: "none", AWS_SECRET_ACCESS_KEY: "none" };
/** Vitest's own NODE_ENV would make a build for tests. */
const environment = (): NodeJS.ProcessEnv => ({
  ...userEnvironment(),
  ...credentials,
  NODE_ENV: undefined,
  NEXT_TELEMETRY_DISABLED: "1",
});

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

/** `next start` of a built app, on any free port. */
export function startApp(folder: string, databaseUrl: string): Promise<ServerProcess> {
  return startServer([programOf(folder), "start", "--port", "0", "--hostname", "127.0.0.1"], {
    cwd: folder,
    env: { ...environment(), DATABASE_URL: databaseUrl },
    address: (output) => /(http:\/\/127\.0\.0\.1:\d+).*Ready/s.exec(output)?.[1],
  });
}
