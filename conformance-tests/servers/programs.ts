import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
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

/** Runs a step of the preparation and prints its beginning and its seconds. Steps run side by side. */
export async function step<T>(text: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  say(text);
  try {
    return await work();
  } finally {
    say(`${text}: ended after ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  }
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

/** Programs, and the Debian package of each. */
export type Packages = Readonly<Record<string, string>>;

let updated: Promise<string> | undefined;
let installed: Promise<void> = Promise.resolve();

/** Installs the Debian packages of missing programs. Calls that install something wait for each other, because apt-get does not. */
export async function installPrograms(packages: Packages): Promise<void> {
  if (missingOf(packages).length === 0) return;
  const installing = installed.then(() => install(packages));
  installed = installing.catch(() => undefined);
  await installing;
}

function missingOf(packages: Packages): string[] {
  return Object.keys(packages).filter((program) => !hasProgram(program));
}

async function install(packages: Packages): Promise<void> {
  const missing = missingOf(packages);
  if (missing.length === 0) return;
  const wanted = [...new Set(missing.map((program) => packages[program] ?? program))];
  await step(`installing ${wanted.join(", ")}`, async () => {
    updated ??= run("apt-get", ["update"]);
    await updated;
    await run("apt-get", ["install", "--yes", "--no-install-recommends", ...wanted]);
  });
}

export function hasProgram(program: string): boolean {
  return environment.PATH.split(delimiter).some((folder) => existsSync(join(folder, program)));
}

/** Calls `attempt` until it resolves, for at most `timeMs`; then rejects with its last error. */
export async function retryFor<T>(timeMs: number, attempt: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + timeMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(25);
    }
  }
}
