import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base, expect } from "vitest";
import { cellsOf } from "../demo/screen.ts";

const root = join(import.meta.dirname, "../..");

interface Place {
  /** Contains the demo's own temporary folders. */
  readonly temp: string;
  /** Runs the demo in a process. */
  readonly demo: (...args: string[]) => Promise<Ended>;
  /** The names of the demo's folders. */
  readonly folders: () => Promise<string[]>;
}

export const test = base.extend<Place>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern.
  temp: async ({}, use) => {
    const temp = await mkdtemp(join(tmpdir(), "scrollback-demo-test-"));
    await use(temp);
    await rm(temp, { recursive: true });
  },
  demo: async ({ temp }, use) => {
    await use((...args) => runDemo(temp, args));
  },
  folders: async ({ temp }, use) => {
    await use(async () => (await readdir(temp)).filter((name) => name.startsWith("scrollback-demo-")));
  },
});

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

async function runDemo(temp: string, args: readonly string[]): Promise<Ended> {
  const start = performance.now();
  const child = spawn(process.execPath, ["examples/demo/demo.ts", ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: temp, FORCE_COLOR: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return { code, stdout, stderr, seconds: (performance.now() - start) / 1000 };
}

export function expectPlain(output: string) {
  for (const control of ["\u001b", "\r"]) expect(output).not.toContain(control);
  expect(output.split("\n").filter((line) => cellsOf(line) > 80)).toEqual([]);
}

export function expectDone({ code, stdout, stderr }: Ended) {
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expectPlain(stdout);
  expect(stdout).toContain("Messages  235 in 114 batches");
  expect(stdout).toContain("By role   1 system, 59 user, 98 assistant, 77 tool");
  expect(stdout).toMatch(/Killed by SIGKILL: \d\d batches acknowledged, /);
  expect(stdout).toMatch(/Batch \d\d was sent again, under the operation id|It began with batch \d\d/);
  expect(stdout).toContain("✓ nothing lost or doubled: 235 messages added, the newest is number 235");
  expect(stdout).toContain("✓ what is kept equals the end of the file, byte for byte");
  expect(stdout).toContain("✓ 114 of 114 batches acknowledged");
  expect(stdout).not.toContain("✗");
  expect(stdout).toMatch(/A commit +median \d+\.\d ms, p95 \d+\.\d ms/);
}
