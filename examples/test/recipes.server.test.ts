import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const examples = join(import.meta.dirname, "..");

/** Runs a test in a separate folder, in which the programs store their chats. */
const inFolder = async (use: (folder: string) => Promise<void>) => {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-recipe-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
};
const linesOf = async (cwd: string, program: string, ...args: string[]) => {
  const { stdout } = await run(process.execPath, [join(examples, program), ...args], { cwd });
  return stdout.trim().split("\n");
};

test.concurrent.each([
  ["tanstack-ai/chat.ts", (turn: number) => `That was your message ${turn}.`],
  ["microsoft-365/agent.ts", (turn: number) => `That was your message ${turn}.`],
  ["llamaindex/chat.ts", () => "Line 4."],
])("%s continues in another process", async (program, answer) => {
  await inFolder(async (folder) => {
    for (let turn = 1; turn <= 3; turn++) {
      const roles = Array(turn).fill("user assistant").join(" ");
      expect(await linesOf(folder, program)).toEqual([answer(turn), roles]);
    }
  });
});

test.concurrent("assistant-ui shows the chats and messages of a killed server", async () => {
  await inFolder(async (folder) => {
    const messages: string[] = [];
    for (let turn = 1; turn <= 3; turn++) {
      const server = spawn(process.execPath, [join(examples, "assistant-ui/server.ts"), "0"], {
        cwd: folder,
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(server, "close");
      try {
        const [url] = await once(server.stdout.setEncoding("utf8"), "data");
        const [shown = ""] = await linesOf(
          folder,
          "test/assistant-ui/visit.ts",
          url.trim(),
          `Question ${turn}?`,
        );
        messages.push(`Question ${turn}?`, `That was your message ${turn}.`);
        if (turn === 2) expect(messages.splice(1, 1)).toEqual(["That was your message 1."]);
        // The visit deletes the second message that is shown.
        if (turn === 3) messages.splice(1, 1);
        const before = turn === 1 ? [] : ["Question 1?"];
        expect(JSON.parse(shown)).toEqual({ before, messages, after: ["Question 1?"] });
      } finally {
        server.kill("SIGKILL");
        await ended;
      }
    }
  });
});
