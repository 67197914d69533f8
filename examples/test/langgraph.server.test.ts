import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const program = join(import.meta.dirname, "../langgraph.ts");

test("a LangGraph graph waits in one process and is resumed in another, twice from the same checkpoint", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-langgraph-"));
  try {
    const inProcess = async () => {
      const { stdout, stderr } = await run(process.execPath, [program], { cwd: folder });
      expect(stderr).toBe("");
      return stdout.trim().split("\n");
    };
    for (let round = 1; round <= 2; round++) {
      expect(await inProcess()).toEqual(["waiting: Buy it?"]);
      const found = "found a ticket to the harbour, ";
      const before = round === 1 ? "" : `${found}went back, approved: no, left it, `;
      expect(await inProcess()).toEqual([
        `${before}${found}approved: yes, bought`,
        `${before}${found}went back, approved: no, left it`,
        ...Array(round).fill(["an end: left it, to the hills", "an end: bought, to the harbour"]).flat(),
      ]);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
