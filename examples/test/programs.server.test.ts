import { mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { test } from "./programs.ts";
import { startServer } from "./server-process.ts";

describe.concurrent("in processes one after the other", () => {
  const trip = (turn: number) => `That was your message ${turn}.\n`;
  const roles = (turn: number) => `${Array(turn).fill("user assistant").join(" ")}\n`;
  /** What a program prints, run again and again in one folder, each time with other arguments. */
  const programs: Record<string, (readonly [printed: string, ...args: string[]])[]> = {
    "memory.ts": [
      ["I do not know your name.\n"],
      ["Your name is Alice.\n", "Hello, my name is Alice"],
      ["Your name is Alice.\n", "What is my name?"],
    ],
    "genkit.ts": [
      ["You have said: trams\n"],
      ["You have said: trams, harbours\n"],
      ["You have said: trams, harbours, museums\n"],
    ],
    "openai-agents.ts": [
      ["waiting for approval: buy_ticket\nuser\nfunction_call\n"],
      ["approved: Here is your ticket.\nuser\nfunction_call\nfunction_call_result\nassistant\n"],
    ],
    "strands.ts": [[`${trip(1)}true\n`], [`${trip(2)}true\n`]],
    "tanstack-ai/chat.ts": [[trip(1) + roles(1)], [trip(2) + roles(2)]],
    "microsoft-365/agent.ts": [[trip(1) + roles(1)], [trip(2) + roles(2)]],
    "note-lists.ts": [["[ 'Trams of Rome', 'Buses' ]\n[ 'Trams of Rome' ]\n"]],
  };
  test.for(Object.entries(programs))("%s", async ([program, rounds], { run }) => {
    for (const [printed, ...args] of rounds) expect((await run(program, args)).stdout).toContain(printed);
  });
});

test.concurrent("files of the AI SDK's guide become chats, once", async ({ folder, run }) => {
  await mkdir(join(folder, ".chats"));
  const file = join(folder, ".chats/abc.json");
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Which tram?" }] };
  await writeFile(file, JSON.stringify([message]));
  await utimes(file, 1_700_000_000, 1_700_000_000);
  const old = { id: "m1", role: "user", content: "Which bus?", createdAt: "2025-01-01T00:00:00.000Z" };
  await writeFile(join(folder, ".chats/old.json"), JSON.stringify([old]));
  for (let round = 1; round <= 2; round++) {
    const { stdout } = await run("import-ai-sdk-files.ts", [".chats", "ada"]);
    expect(stdout).toBe(
      "old Which bus? 2025-01-01T00:00:00.000Z\nabc Which tram? 2023-11-14T22:13:20.000Z\n",
    );
  }
});

test.concurrent("a list of Microsoft's Agent Framework becomes a thread", async ({ run }) => {
  const elements = [
    { type: "chat_message", role: "user", contents: [{ type: "text", text: "Which tram?" }] },
    {
      role: { type: "role", value: "assistant" },
      contents: [{ type: "function_call", call_id: "c1", name: "timetable", arguments: "{}" }],
    },
    { role: "tool", contents: [{ type: "function_result", call_id: "c1", result: "Line 4" }] },
  ];
  const lines = elements.map((one) => JSON.stringify(one)).join("\n");
  expect((await run("import-agent-framework.ts", ["thread_1"], lines)).stdout).toBe("user assistant tool\n");
});

test.concurrent("assistant-ui shows the chats and messages of a killed server", async ({ folder, run }) => {
  const messages: string[] = [];
  for (let turn = 1; turn <= 3; turn++) {
    const program = join(import.meta.dirname, "../assistant-ui/server.ts");
    await using server = await startServer([program, "0"], { cwd: folder });
    const then = turn === 3 ? ["regenerate"] : [];
    const { stdout } = await run("test/assistant-ui/visit.ts", [server.url, `Question ${turn}?`, ...then]);
    messages.push(`Question ${turn}?`, `That was your message ${turn}.`);
    if (turn === 2) expect(messages.splice(1, 1)).toEqual(["That was your message 1."]);
    // The visit deletes the second message that is shown.
    if (turn === 3) messages.splice(1, 1);
    const before = turn === 1 ? [] : ["Question 1?"];
    expect(JSON.parse(stdout)).toEqual({ before, messages, after: ["Question 1?"] });
    if (turn < 3) continue;
    // The branch picker of a new page has both answers.
    const { stdout: branches } = await run("test/assistant-ui/visit.ts", [server.url]);
    expect(JSON.parse(branches).at(-1)).toBe(2);
  }
});
