import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { openStores, type StoreState } from "@scrollback/store-core";
import { openaiTraits } from "@scrollback/store-core/openai";
import type { Report } from "./agent.ts";
import { batches, conversation, type Message } from "./conversation.ts";

// `npm run demo -- [store]`: an agent streams a conversation into a store and is killed in the middle. Another process continues from
// the state of the first one. Then the demo reads the thread and compares it with the conversation. The store is a URL, of a file or a
// server; default: a SQLite file in a new folder. The exit code is 1 if a check fails.

const [, , url = `sqlite:${join(await mkdtemp(join(tmpdir(), "scrollback-demo-")), "chats.db")}`] =
  process.argv;

const heading = (title: string) => console.log(`\n── ${title} ${"─".repeat(76 - title.length)}`);
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const times: number[] = [];
let state: StoreState | undefined;
let begun = -1;
let stored = -1;
/** The outcomes of the commits, by batch. */
const outcomes = new Map<number, string | null>();

/** Runs the agent from a batch on, and kills it when it begins to commit another one. Returns the signal that ended it. */
async function runAgent(name: string, from: number, killAt?: number): Promise<NodeJS.Signals | null> {
  const args = [url, state ? JSON.stringify(state) : "", String(from)];
  const agent = fork(join(import.meta.dirname, "agent.ts"), args, { execArgv: [] });
  agent.on("message", (report: Report) => {
    if (report.event === "opened") state = report.state;
    if (report.event === "begins") {
      begun = report.batch;
      if (begun === killAt) agent.kill("SIGKILL");
    }
    if (report.event !== "stored") return;
    stored = report.batch;
    times.push(report.ms);
    if (outcomes.has(stored)) {
      const same = outcomes.get(stored) === report.revision ? "the first outcome" : "another outcome";
      console.log(` Batch ${stored + 1} was sent again under the same operation id, and got ${same}.`);
    }
    outcomes.set(stored, report.revision);
    const count = batches.slice(0, stored + 1).flat().length;
    if (stored === from || stored % 30 === 29 || stored === batches.length - 1)
      console.log(` ${name}  batch ${stored + 1} of ${batches.length}, ${count} messages`);
  });
  const [code, signal] = await once(agent, "close");
  if (code) throw new Error(`${name} ended with exit code ${code}`);
  return signal;
}

function textOf({ content, ...message }: Message): string {
  if ("tool_calls" in message && message.tool_calls)
    return message.tool_calls
      .map((call) => (call.type === "function" ? `→ ${call.function.name} ${call.function.arguments}` : "→"))
      .join(" ");
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : (content ?? []);
  return parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join(" ");
}

function show(message: Message): void {
  const speaker = "name" in message ? message.name : message.role;
  const [line = ""] = textOf(message).split(/[\n\u2028]/);
  console.log(` ${speaker?.padEnd(10)} ${line.length > 66 ? `${line.slice(0, 65)}…` : line}`);
}

heading("A conversation");
const calls = conversation.flatMap((message) => openaiTraits.toolCalls(message));
console.log(` ${conversation.length} messages in ${batches.length} batches, with ${calls.length} tool calls`);
console.log(` Store: ${url.replace(/\/\/.*@/, "//")}`); // without a password

heading("Process A streams it in, turn by turn");
const killAt = Math.floor(batches.length * (0.4 + Math.random() * 0.2));
const signal = await runAgent("Process A", 0, killAt);
console.log(` Killed by ${signal}: ${stored + 1} batches acknowledged, batch ${begun + 1} begun.`);

heading("Process B restores the state and goes on");
console.log(` The state, without messages and secrets:\n ${JSON.stringify(state)}`);
// What process A had under way may be stored or not. An agent that misses a reply sends again, even what is stored.
await runAgent("Process B", stored);

heading("What is kept");
await using stores = await openStores<Message>(url, { traits: openaiTraits });
const { entries } = await stores.restore(state).read();
for (const { message } of entries.slice(0, 1)) show(message);
console.log(` … ${entries.length - 9} messages …`);
for (const { message } of entries.slice(-8)) show(message);

heading("Checked");
const newest = entries.at(-1)?.sequence;
const keptCalls = new Set(entries.flatMap(({ message }) => openaiTraits.toolCalls(message)));
const checks = {
  [`${batches.length} of ${batches.length} batches acknowledged, a commit took ${median(times).toFixed(1)} ms on ${stores.settings.backend}`]:
    stored === batches.length - 1,
  [`nothing lost or doubled: ${conversation.length} messages added, the newest is number ${newest}`]:
    newest === conversation.length,
  [`trimmed to 40: ${entries.length} are kept, the system prompt and whole turns`]:
    entries.length <= 40 && entries[0]?.message.role === "system" && entries[1]?.message.role === "user",
  "each kept message equals that of the file": entries.every(({ sequence, message }) =>
    isDeepStrictEqual(message, conversation[sequence - 1]),
  ),
  "each kept tool result has its call": entries.every(({ message }) =>
    openaiTraits.toolResults(message).every((id) => keptCalls.has(id)),
  ),
};
for (const [finding, holds] of Object.entries(checks)) console.log(` ${holds ? "✓" : "✗"} ${finding}`);
if (Object.values(checks).includes(false)) process.exitCode = 1;
