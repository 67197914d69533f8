import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Administrators' programs are not on every user's PATH, and packages must not ask questions. */
export const environment = {
  ...process.env,
  PATH: [process.env.PATH, "/usr/sbin", "/sbin"].join(delimiter),
  DEBIAN_FRONTEND: "noninteractive",
};

/** Prints the steps of the preparation on standard error, because they take time and change the machine. */
export function say(text: string): void {
  console.error(`servers: ${text}`);
}

/** Runs a program to its end. Rejects with the end of its output when it fails. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await execute(program, args, { env: environment, maxBuffer: 64 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { message, stdout = "", stderr = "" } = error as Error & { stdout?: string; stderr?: string };
    const end = `${stdout}\n${stderr}`.trim().split("\n").slice(-20).join("\n");
    throw new Error(`${program} ${args.join(" ")} failed:\n${end || message}`, { cause: error });
  }
}

/** Whether {@link installPrograms} can install packages here: on Debian and derivatives, as root. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && hasProgram("apt-get");
}

/** Installs the Debian packages of missing programs, given as a record from program to package. */
export async function installPrograms(packages: Readonly<Record<string, string>>): Promise<void> {
  const missing = Object.keys(packages).filter((program) => !hasProgram(program));
  if (missing.length === 0) return;
  const wanted = [...new Set(missing.map((program) => packages[program] ?? program))];
  say(`installing ${wanted.join(", ")}`);
  await run("apt-get", ["update"]);
  await run("apt-get", ["install", "--yes", "--no-install-recommends", ...wanted]);
}

export function hasProgram(program: string): boolean {
  return environment.PATH.split(delimiter).some((folder) => existsSync(join(folder, program)));
}
