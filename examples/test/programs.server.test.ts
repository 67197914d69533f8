import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { test as base, expect } from "vitest";

const run = promisify(execFile);

interface Place {
  /** An empty folder, in which the programs store their chats. */
  readonly folder: string;
  /** Runs a program of the examples in a process in that folder. */
  readonly inProcess: (program: string, ...args: string[]) => Promise<{ stdout: string; stderr: string }>;
}

// Concurrent, because each test runs processes one after the other.
const test = base.extend<Place>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern.
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "scrollback-examples-"));
    await use(folder);
    await rm(folder, { recursive: true });
  },
  inProcess: async ({ folder }, use) => {
    await use((program, ...args) =>
      run(process.execPath, [join(import.meta.dirname, "..", program), ...args], { cwd: folder }),
    );
  },
}).concurrent;

test("a chat of a Genkit agent continues in another process", async ({ inProcess }) => {
  const said: string[] = [];
  for (const word of ["trams", "harbours", "museums"]) {
    said.push(word);
    const { stdout } = await inProcess("genkit.ts");
    expect(stdout).toContain(`You have said: ${said.join(", ")}\n`);
  }
});

test("a LangGraph graph waits in one process and is resumed in another, twice from the same checkpoint", async ({
  inProcess,
}) => {
  const linesOf = async () => {
    const { stdout, stderr } = await inProcess("langgraph.ts");
    expect(stderr).toBe("");
    return stdout.trim().split("\n");
  };
  for (let round = 1; round <= 2; round++) {
    expect(await linesOf()).toEqual(["waiting: Buy it?"]);
    const found = "found a ticket to the harbour, ";
    const before = round === 1 ? "" : `${found}went back, approved: no, left it, `;
    expect(await linesOf()).toEqual([
      `${before}${found}approved: yes, bought`,
      `${before}${found}went back, approved: no, left it`,
      ...Array(round).fill(["an end: left it, to the hills", "an end: bought, to the harbour"]).flat(),
    ]);
  }
});

test("a run of the OpenAI Agents SDK waits in one process and is approved in another", async ({
  inProcess,
}) => {
  const linesOf = async () => {
    const { stdout, stderr } = await inProcess("openai-agents.ts");
    expect(stderr).toBe("");
    return stdout.trim().split("\n");
  };
  expect(await linesOf()).toEqual(["waiting for approval: buy_ticket", "user", "function_call"]);
  expect(await linesOf()).toEqual([
    "approved: Here is your ticket.",
    ...["user", "function_call", "function_call_result", "assistant"],
  ]);
});

test("the quick start runs, and runs again in the same folder", async ({ folder, inProcess }) => {
  for (let round = 0; round < 2; round++) {
    const { stdout, stderr } = await inProcess("quick-start.ts");
    expect(stdout).toBe("user: Which city has the Atomium?\nassistant: Brussels.\n");
    expect(stderr).toBe("");
  }
  expect(await readdir(folder)).toContain("chats.db");
});

test("the sessions example runs, and continues its session when run again", async ({ inProcess }) => {
  for (let visits = 1; visits <= 3; visits++) {
    const { stdout, stderr } = await inProcess("sessions.ts");
    expect(stderr).toBe("");
    const [session, other, listed] = stdout.split("\n");
    expect(session).toContain(`${visits} events`);
    expect(session).toContain(`"visits":${visits}`);
    expect(other).toBe('{"city":"Oslo","user:language":"nl"}');
    // The session of the first run, without an append since.
    expect(listed).toContain(visits === 1 ? "rome: " : '"city":"Oslo"');
  }
});

test("a chat of a Strands agent continues in another process", async ({ inProcess }) => {
  for (let turn = 1; turn <= 3; turn++) {
    const { stdout } = await inProcess("strands.ts");
    expect(stdout).toBe(`That was your message ${turn}.\ntrue\n`);
  }
});

test.for([
  ["in memory", []],
  ["in a file", ["sqlite:chats.db"]],
] as const)(
  "the summarising chat stays short and forgets nothing, %s",
  async ([, args], { folder, inProcess }) => {
    const { stdout, stderr } = await inProcess("summarising-chat.ts", ...args);
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
  },
);

test("notes are listed by their last edit, and not after their deletion", async ({ inProcess }) => {
  const { stdout } = await inProcess("note-lists.ts");
  expect(stdout).toBe("[ 'Trams of Rome', 'Buses' ]\n[ 'Trams of Rome' ]\n");
});

test("files of the AI SDK's guide become chats, once", async ({ folder, inProcess }) => {
  await mkdir(join(folder, ".chats"));
  const file = join(folder, ".chats/abc.json");
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Which tram?" }] };
  await writeFile(file, JSON.stringify([message]));
  await utimes(file, 1_700_000_000, 1_700_000_000);
  const old = { id: "m1", role: "user", content: "Which bus?", createdAt: "2025-01-01T00:00:00.000Z" };
  await writeFile(join(folder, ".chats/old.json"), JSON.stringify([old]));
  for (let round = 1; round <= 2; round++) {
    const { stdout } = await inProcess("import-ai-sdk-files.ts", ".chats", "ada");
    expect(stdout).toBe(
      "old Which bus? 2025-01-01T00:00:00.000Z\nabc Which tram? 2023-11-14T22:13:20.000Z\n",
    );
  }
});

test("a list of Microsoft's Agent Framework becomes a thread", async ({ folder }) => {
  const elements = [
    { type: "chat_message", role: "user", contents: [{ type: "text", text: "Which tram?" }] },
    {
      role: { type: "role", value: "assistant" },
      contents: [{ type: "function_call", call_id: "c1", name: "timetable", arguments: "{}" }],
    },
    { role: "tool", contents: [{ type: "function_result", call_id: "c1", result: "Line 4" }] },
  ];
  const program = join(import.meta.dirname, "../import-agent-framework.ts");
  const importing = run(process.execPath, [program, "thread_1"], { cwd: folder });
  importing.child.stdin?.end(elements.map((one) => JSON.stringify(one)).join("\n"));
  expect((await importing).stdout).toBe("user assistant tool\n");
});
