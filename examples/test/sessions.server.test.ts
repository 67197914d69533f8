import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const program = join(import.meta.dirname, "../sessions.ts");

test("the sessions example runs, and continues its session when run again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-sessions-"));
  try {
    for (let visits = 1; visits <= 3; visits++) {
      const { stdout, stderr } = await run(process.execPath, [program], { cwd: folder });
      expect(stderr).toBe("");
      const [session, other, listed] = stdout.split("\n");
      expect(session).toContain(`${visits} events`);
      expect(session).toContain(`"visits":${visits}`);
      expect(other).toBe('{"city":"Oslo","user:language":"nl"}');
      // The session of the first run, without an append since.
      expect(listed).toContain(visits === 1 ? "rome: " : '"city":"Oslo"');
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
