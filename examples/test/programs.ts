import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { test as base } from "vitest";
import { unset } from "./server-process.ts";

const examples = join(import.meta.dirname, "..");

interface Programs {
  /** An empty folder, in which the programs store their chats. */
  readonly folder: string;
  /** Runs a program of the examples in a process in that folder, with a text as its input. */
  readonly run: (
    program: string,
    args?: readonly string[],
    input?: string,
  ) => Promise<{ stdout: string; stderr: string }>;
}

/** A test that runs programs of the examples. It waits for processes: use `test.concurrent`. */
export const test = base.extend<Programs>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern.
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "scrollback-examples-"));
    await use(folder);
    await rm(folder, { recursive: true });
  },
  run: async ({ folder }, use) => {
    await use((program, args = [], input = "") => {
      const options = { cwd: folder, env: { ...process.env, ...unset } };
      const running = promisify(execFile)(process.execPath, [join(examples, program), ...args], options);
      running.child.stdin?.end(input);
      return running;
    });
  },
});
