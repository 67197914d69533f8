import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const program = join(import.meta.dirname, "../quick-start.ts");

test("the quick start runs, and runs again in the same folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-quick-start-"));
  try {
    for (let round = 0; round < 2; round++) {
      const { stdout, stderr } = await run(process.execPath, [program], { cwd: folder });
      expect(stdout).toBe("user: Which city has the Atomium?\nassistant: Brussels.\n");
      expect(stderr).toBe("");
    }
    expect(await readdir(folder)).toContain("chats.db");
  } finally {
    await rm(folder, { recursive: true });
  }
});
