import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const program = join(import.meta.dirname, "../strands.ts");

test("a chat of a Strands agent continues in another process", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-strands-"));
  try {
    for (let turn = 1; turn <= 3; turn++) {
      const { stdout } = await run(process.execPath, [program], { cwd: folder });
      expect(stdout).toBe(`That was your message ${turn}.\ntrue\n`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
