import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const program = join(import.meta.dirname, "../openai-agents.ts");

test("a run of the OpenAI Agents SDK waits in one process and is approved in another", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-openai-agents-"));
  try {
    const inProcess = async () => {
      const { stdout, stderr } = await run(process.execPath, [program], { cwd: folder });
      expect(stderr).toBe("");
      return stdout.trim().split("\n");
    };
    expect(await inProcess()).toEqual(["waiting for approval: buy_ticket", "user", "function_call"]);
    expect(await inProcess()).toEqual([
      "approved: Here is your ticket.",
      ...["user", "function_call", "function_call_result", "assistant"],
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
