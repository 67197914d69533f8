import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Harness } from "@scrollback/conformance";

type ServerControl = Awaited<
  ReturnType<NonNullable<Parameters<typeof import("@scrollback/conformance").runFaults>[0]["server"]>>
>;

/** The Worker of the tests in a process of workerd, with its data in a folder. */
export class Workerd implements ServerControl {
  readonly server: Harness["server"] = {
    product: "workerd",
    version: createRequire(import.meta.url)("workerd/package.json").version,
  };
  readonly #folder: string;
  #process: ChildProcess | undefined;
  #workerd = 0;
  port = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(): Promise<Workerd> {
    const workerd = new Workerd(await mkdtemp(join(tmpdir(), "scrollback-workerd-")));
    await workerd.start();
    return workerd;
  }

  async start(): Promise<void> {
    const program = join(import.meta.dirname, "serve.ts");
    const child = spawn(process.execPath, [program, this.#folder, String(this.port)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    const failed = once(child, "exit").then(() => Promise.reject(new Error("the server of the tests ended")));
    const [line] = await Promise.race([once(child.stdout, "data"), failed]);
    failed.catch(() => undefined);
    this.port = Number(line);
    this.#workerd = childrenOf(child.pid).find((pid) => /\/workerd\0serve\0/.test(commandOf(pid))) ?? 0;
    if (this.#workerd === 0) throw new Error("workerd is not a child of the server of the tests");
  }

  /** Ends workerd as a crash does, then the process that started it. */
  async kill(): Promise<void> {
    const child = this.#process;
    process.kill(this.#workerd, "SIGKILL");
    child?.kill("SIGKILL");
    if (child?.exitCode === null && child.signalCode === null) await once(child, "exit");
  }

  async pause(): Promise<void> {
    process.kill(this.#workerd, "SIGSTOP");
  }

  async unpause(): Promise<void> {
    process.kill(this.#workerd, "SIGCONT");
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true });
  }
}

/** Of Linux. */
function childrenOf(parent: number | undefined): number[] {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return processes.map(Number).filter((pid) => statusOf(pid).includes(`\nPPid:\t${parent}\n`));
}

const statusOf = (pid: number) => contentOf(`/proc/${pid}/status`);
const commandOf = (pid: number) => contentOf(`/proc/${pid}/cmdline`);

/** A process may end meanwhile. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
