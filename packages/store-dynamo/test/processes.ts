import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
const child = fileURLToPath(new URL("child.ts", import.meta.url));

/** Has another process do a job of `child.ts`, and gives its result. Rejects where it fails. */
export async function inProcess<Result>(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Result> {
  const { stdout } = await execute(process.execPath, [child, ...args], { env });
  return JSON.parse(stdout) as Result;
}
