import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { beforeAll, describe, expect, test } from "vitest";
import { openTestStores } from "../../../../conformance-tests/test/fixtures/test-stores.ts";
import { dialogue } from "./cast.ts";
import type { Assignment, Report } from "./chat-process.ts";

type Done = Extract<Report, { event: "done" }>;

const program = new URL("chat-process.ts", import.meta.url);

async function start(assignment: Assignment): Promise<{ child: ChildProcess; report: Report }> {
  const child = fork(program, { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const first = Promise.race([
    once(child, "message").then(([report]) => report as Report),
    // After its last message, unlike "exit".
    once(child, "disconnect").then(() => {
      throw new Error("the process ended without a word");
    }),
  ]);
  child.send(assignment);
  return { child, report: await first };
}

/** Invokes a chat in a separate process, which must succeed. */
async function runChat(assignment: Assignment): Promise<Done> {
  const { report } = await start(assignment);
  if (report.event !== "done") throw new Error(`the chat failed: ${JSON.stringify(report)}`);
  return report;
}

/** Invokes a chat until it waits, and kills its process. */
async function crash(assignment: Assignment): Promise<void> {
  const { child, report } = await start(assignment);
  if (report.event !== "waiting") throw new Error(`it did not wait: ${JSON.stringify(report)}`);
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

const bob = (turn: number) => ["Bob: [tool-call]", "Bob: [tool-result]", `Bob: Bob ${turn}`];
const twoRounds = [
  "user: Hi",
  "user: All",
  "Ann: Ann 1",
  ...bob(1),
  "Cy: Cy 1",
  "Ann: Ann 2",
  ...bob(2),
  "Cy: Cy 2",
];

/** A chat across several processes. `newUrl` returns the URL of new, empty stores. */
export function declareCrashes(backend: string, newUrl: () => Promise<string>): void {
  let url: string;
  beforeAll(async () => {
    url = await newUrl();
    await using stores = await openTestStores(url);
    await stores.setup();
  });
  const input = ["Hi", "All"];

  /** The content of the thread, independent of the reader. */
  async function stored(threadId: string): Promise<string[]> {
    await using stores = await openTestStores(url);
    return dialogue(await stores.open(threadId).listMessages());
  }

  // Concurrent, because they mostly wait for their processes, and each has a thread of its own.
  describe(`a group chat over several processes on ${backend}`, { concurrent: true }, () => {
    test("a state is restored in another process: history, views, next agent, completion", async () => {
      const threadId = randomUUID();
      const first = await runChat({ url, threadId, input, turns: 2 });
      const fresh = { threadId: randomUUID() };
      const second = await runChat({ url, ...fresh, state: first.state, turns: 3 });
      expect(second.lines).toEqual(["Cy: Cy 1", "Ann: Ann 2", "Bob: Bob 2"]);
      const third = await runChat({ url, ...fresh, state: second.state, turns: 9 });
      expect(third.lines).toEqual(["Cy: Cy 2"]);
      expect(third).toMatchObject({ history: twoRounds, isComplete: true });
      expect(third.views).toEqual([twoRounds, twoRounds, twoRounds]);
      const fourth = await start({ url, ...fresh, state: third.state, turns: 1 });
      expect(fourth.report).toMatchObject({
        event: "failed",
        message: expect.stringContaining("Chat has completed."),
      });
    });

    test.each([
      ["before its first message", { agent: "Ann", call: 1 }, undefined, ["user: Hi", "user: All"]],
      ["between its tools and its answer", { agent: "Bob", call: 2 }, undefined, twoRounds.slice(0, 5)],
      [
        "after its answer, before the termination was called",
        { agent: "Bob", call: 1 },
        "termination",
        twoRounds.slice(0, 6),
      ],
    ] as const)(
      "killed during a turn, %s, it continues with the right agent and loses and doubles nothing",
      async (_when, waitAt, waitIn, kept) => {
        const threadId = randomUUID();
        await crash({ url, threadId, input, turns: 9, waitAt, ...(waitIn && { waitIn }) });
        expect(await stored(threadId)).toEqual(kept);
        const second = await runChat({ url, threadId, turns: 9 });
        expect(second.history).toEqual(twoRounds);
        expect(second.isComplete).toBe(true);
        expect(await stored(threadId)).toEqual(twoRounds);
        expect(second.lines).toEqual(twoRounds.slice(kept.length).filter((line) => !line.includes("[tool")));
      },
    );
  });
}
