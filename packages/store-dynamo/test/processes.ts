import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
const child = fileURLToPath(new URL("child.ts", import.meta.url));

/** Runs a job of `child.ts` in another process, and returns its result. Rejects if the job fails. */
export async function inProcess<Result>(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Result> {
  const { stdout } = await execute(process.execPath, [child, ...args], { env });
  return JSON.parse(stdout) as Result;
}
