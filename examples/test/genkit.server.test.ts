import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const program = join(import.meta.dirname, "../genkit.ts");

test("a chat of a Genkit agent continues in another process", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-genkit-"));
  try {
    const said: string[] = [];
    for (const word of ["trams", "harbours", "museums"]) {
      said.push(word);
      const { stdout } = await run(process.execPath, [program], { cwd: folder });
      expect(stdout).toContain(`You have said: ${said.join(", ")}\n`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
