import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const program = join(import.meta.dirname, "../summarising-chat.ts");

test.each([
  ["in memory", []],
  ["in a file", ["sqlite:chats.db"]],
])("the summarising chat stays short and forgets nothing, %s", async (_, args) => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-summarising-chat-"));
  try {
    const { stdout, stderr } = await run(process.execPath, [program, ...args], { cwd: folder });
    expect(stderr).toBe("");
    const lines = stdout.trimEnd().split("\n");
    const [summary, ...kept] = lines.slice(0, -2);
    expect(summary).toMatch(
      /^assistant: The user said: My name is Alice\. I am allergic to nuts\. They planned up to day 1\d\.$/,
    );
    expect(kept.length).toBeLessThanOrEqual(8);
    expect(kept.at(-1)).toBe("assistant: You said: My name is Alice. I am allergic to nuts.");
    // The history no longer contains the two facts, except in the summary and in the answers based on it.
    expect(kept.slice(0, -1).join()).not.toMatch(/Alice|nuts/);
    expect(lines.at(-2)).toMatch(/^46 messages were said, \d are kept, \d+ summaries were written\.$/);
    expect(lines.at(-1)).toMatch(/^The model was never given more than \d+ messages at once\.$/);
    expect(Number(/\d+/.exec(lines.at(-1) ?? "")?.[0])).toBeLessThanOrEqual(12);
    expect(await readdir(folder)).toEqual(args.length === 0 ? [] : expect.arrayContaining(["chats.db"]));
  } finally {
    await rm(folder, { recursive: true });
  }
});
