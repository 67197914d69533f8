import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const PROCESS = fileURLToPath(new URL("travel-process.ts", import.meta.url));

test("a runner continues a session in another process, with its events and its state", async () => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-adk-"));
  try {
    const say = async (text: string) => {
      const { stdout } = await run(process.execPath, [PROCESS, `sqlite:${join(folder, "chats.db")}`, text]);
      return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
    };
    const turn = (text: string) => [
      `user: ${text}`,
      "model: calls find_tram",
      'user: gets {"line":4}',
      "model: Line 4, every ten minutes.",
    ];
    for (let round = 1; round <= 3; round++) {
      const output = await say(`question ${round}`);
      const before = Array.from({ length: round - 1 }, (_, n) => turn(`question ${n + 1}`)).flat();
      expect(output.answers).toEqual(["Line 4, every ten minutes."]);
      expect(output.read).toEqual(
        [1, 3].map((length) => [...before, ...turn(`question ${round}`).slice(0, length)]),
      );
      expect(output.authors).toEqual(Array(round).fill(["user", "guide", "guide", "guide"]).flat());
      expect(output.state).toEqual({ uses: round, "user:uses": round, "app:uses": round });
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
