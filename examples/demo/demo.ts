import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setImmediate as breath } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type ChatMessage, chatMessageTraits, openStores, StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import type { Report, SavedState } from "./agent.ts";
import { type AgentProcess, startAgent } from "./agent-process.ts";
import { agentBatches, readConversation } from "./openai-jsonl.ts";
import { checkShared, shownUrl, whereItLies } from "./place.ts";
import { type Entry, expectedEntries, prove, quantile } from "./proof.ts";
import { checks, heading, paragraph, rows, startProgress, transcript, wrap } from "./screen.ts";

// Shows the main use: an agent streams a conversation into a store and is killed in the middle. A second process continues
// from the state of the first one. Then the demo prints the content of the store and compares it with the conversation.
// Exit code 0 if all checks pass, 1 if a check fails, 2 for an unusable option, file or store.

const USAGE = `usage: npm run demo -- [--store <url>] [--max-messages <number>] [--file <jsonl>]
       npm run demo -- --look <folder of an earlier run> [--store <url>]`;
const SHIPPED = fileURLToPath(new URL("conversation.jsonl", import.meta.url));
/** The total of an agent's pauses, so that a person can follow. */
const THINKING_MS = 2_500;
const LONGEST_PAUSE_MS = 25;
/** Of more messages than this, the demo prints the first and the newest; of a longer message, the beginning. */
const SHOWN_MESSAGES = 60;
const SHOWN_LINES = 4;

const out = process.stdout;

interface Options {
  readonly store: string | undefined;
  readonly maxMessages: number;
  readonly file: string;
  readonly look: string | undefined;
}

/** One run of the demo. */
interface Run {
  readonly url: string;
  readonly backend: string;
  readonly folder: string;
  readonly file: string;
  readonly maxMessages: number;
  readonly messages: readonly ChatMessage[];
  readonly batches: readonly (readonly ChatMessage[])[];
  /** The agents' reports, in order. */
  readonly acknowledged: (Report & { event: "acknowledged" })[];
  /** The batch of the last report. */
  begun: number;
}

function readOptions(): Options {
  const text = { type: "string" } as const;
  try {
    const { values } = parseArgs({ options: { store: text, "max-messages": text, file: text, look: text } });
    const { store, file = SHIPPED, look } = values;
    return { store, file, look, maxMessages: Number(values["max-messages"] ?? 40) };
  } catch (error) {
    throw new StoreError("INVALID_ARGUMENT", `${(error as Error).message.split(". ")[0]}\n${USAGE}`);
  }
}

/** Reads the conversation and checks the store before the first output. */
async function prepare({ store, maxMessages, file }: Options): Promise<Run> {
  if (store !== undefined) checkShared(store);
  const batches: ChatMessage[][] = [];
  for await (const batch of agentBatches(readConversation(file))) batches.push(batch);
  if (batches.length === 0) invalid(`--file: ${file} holds no message`);
  const folder = await mkdtemp(join(tmpdir(), "scrollback-demo-"));
  const url = store ?? urlIn(folder);
  try {
    await using stores = await openStores(url, { maxMessages });
    await stores.setup();
    await stores.open().read({ limit: 0 });
    const { backend } = stores.settings;
    return {
      url,
      backend,
      folder,
      file,
      maxMessages,
      messages: batches.flat(),
      batches,
      acknowledged: [],
      begun: 0,
    };
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
}

function showConversation({ url, file, maxMessages, messages, batches }: Run): void {
  const { system = [], user = [], assistant = [], tool = [] } = Object.groupBy(messages, ({ role }) => role);
  const calls = messages.flatMap((message) => chatMessageTraits.toolCalls(message)).length;
  const parts = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  const images = parts.filter(({ type }) => type === "file").length;
  const path = relative(process.cwd(), file);
  heading(out, "A conversation");
  rows(out, [
    ["File", path.startsWith("..") ? file : path],
    ["Messages", `${messages.length} in ${batches.length} batches, as an agent commits them`],
    [
      "By role",
      `${system.length} system, ${user.length} user, ${assistant.length} assistant, ${tool.length} tool`,
    ],
    ["In them", `${calls} tool calls, ${images} images`],
    ["Store", `${shownUrl(url)}, maxMessages ${maxMessages}`],
  ]);
}

/** Starts a process that streams batches into the store. With `killAt`, kills it around the commit of that batch. */
async function stream(run: Run, name: string, killAt?: number): Promise<"done" | "killed"> {
  const { url, file, folder, maxMessages, messages, batches, acknowledged } = run;
  const progress = startProgress(out, name, messages.length);
  const pauseMs = Math.min(LONGEST_PAUSE_MS, THINKING_MS / batches.length);
  const assignment = { store: url, file, stateFile: stateFileIn(folder), maxMessages, pauseMs };
  const agent = startAgent(assignment, (report) => {
    run.begun = report.batch;
    if (report.event === "begins") {
      if (report.batch === killAt) void killWithin(agent, quantile(timesOf(run), 0.5));
      return;
    }
    acknowledged.push(report);
    progress.update(report.messages, `batch ${report.batch} of ${batches.length}`);
  });
  try {
    return await agent.ended;
  } catch (error) {
    throw new StoreError("UNAVAILABLE", `${name} failed: ${(error as Error).message}`, { cause: error });
  } finally {
    progress.end();
  }
}

/** Kills a process at a random moment of its commit. Timers count whole milliseconds, and commits may be faster. */
async function killWithin(agent: AgentProcess, commitMs: number): Promise<void> {
  const end = performance.now() + Math.random() * commitMs;
  while (performance.now() < end) await breath();
  agent.kill();
}

const timesOf = ({ acknowledged }: Run) => acknowledged.map(({ ms }) => ms);

async function streamAndKill(run: Run): Promise<void> {
  heading(out, "Process A streams it in, turn by turn");
  const killAt = 1 + Math.floor(run.batches.length * (0.4 + Math.random() * 0.2));
  const end = await stream(run, "Process A", killAt);
  const last = run.acknowledged.at(-1)?.batch ?? 0;
  paragraph(
    out,
    end === "done"
      ? "Process A was done before SIGKILL reached it."
      : `Killed by SIGKILL: ${last} batches acknowledged, ${run.begun > last ? `batch ${run.begun}` : "none"} under way.`,
  );
}

async function goOn(run: Run): Promise<void> {
  const { state } = await readState(run.folder);
  const [before, begun] = [run.acknowledged.length, run.begun];
  heading(out, "Process B restores the state and goes on");
  rows(out, [["State", JSON.stringify(state)]]);
  await stream(run, "Process B");
  const first = run.acknowledged[before];
  if (!first) return;
  const again = `Batch ${first.batch} was sent again, under the operation id that process A had given it`;
  const known = `${again}: the store had counted it already, so nothing changed.`;
  const unknown = `${again}: the store did not have it, so it counts now.`;
  paragraph(
    out,
    first.wasThere ? known : first.batch <= begun ? unknown : `It began with batch ${first.batch}.`,
  );
}

/** The thread as another process reads it. */
async function entriesOf(url: string, { state }: SavedState): Promise<Entry[]> {
  await using stores = await openStores(url);
  return (await stores.restore(state).read()).entries;
}

function showKept(entries: readonly Entry[]): void {
  const messages = entries.map(({ message }) => message);
  heading(out, "What is kept");
  const left = Math.max(0, messages.length - SHOWN_MESSAGES);
  transcript(out, messages.slice(0, 1), SHOWN_LINES);
  if (left > 0) paragraph(out, `… ${left} more messages …`);
  transcript(out, messages.slice(1 + left), SHOWN_LINES);
}

async function showCosts(run: Run, entries: readonly Entry[]): Promise<void> {
  const { url, backend, folder, messages } = run;
  const times = timesOf(run);
  const [median, p95] = [0.5, 0.95].map((share) => quantile(times, share).toFixed(1));
  const { state } = await readState(folder);
  const password = shownUrl(url) === url ? "" : " (with user and password)";
  const store = url === urlIn(folder) ? "" : ` --store ${shownUrl(url)}${password}`;
  heading(out, "In numbers");
  rows(out, [
    ["Kept", `${entries.length} of ${messages.length} messages; ${messages.length - entries.length} trimmed`],
    ["Begins with", beginning(entries)],
    [
      "A commit",
      `median ${median} ms, p95 ${p95} ms: ${times.length} calls of addMessages on ${backend}, as both processes measured them here and now`,
    ],
    ["Data", await whereItLies(url)],
    ["Thread", state.threadId],
    ["State file", stateFileIn(folder)],
    ["Look again", `npm run demo -- --look ${folder}${store}`],
  ]);
}

/** The first kept message: the one after the system prompt if the messages that followed the prompt were trimmed. */
function beginning([first, second]: readonly Entry[]): string {
  const isTrimmed = first && second && second.sequence > first.sequence + 1;
  const entry = isTrimmed ? second : first;
  if (!entry) return "nothing";
  const { authorName, role, content } = entry.message;
  const text = typeof content === "string" ? content : content.find((part) => part.type === "text")?.text;
  const [line = "", ...more] = wrap(text ?? "", 40);
  const message = `number ${entry.sequence}, ${authorName ?? role}: ${line}${more.length > 0 ? " …" : ""}`;
  return isTrimmed ? `the system prompt, then ${message}` : message;
}

const urlIn = (folder: string) => `sqlite:${join(folder, "chats.db")}`;
const stateFileIn = (folder: string) => join(folder, "state.json");

async function readState(folder: string): Promise<SavedState> {
  try {
    return JSON.parse(await readFile(stateFileIn(folder), "utf8"));
  } catch (cause) {
    throw new StoreError("INVALID_ARGUMENT", `--look: ${folder} holds no state.json of an earlier run`, {
      cause,
    });
  }
}

async function play(run: Run): Promise<void> {
  showConversation(run);
  await streamAndKill(run);
  await goOn(run);
  const stored = await entriesOf(run.url, await readState(run.folder));
  showKept(stored);
  const expected = expectedEntries(run.batches, run.maxMessages);
  const results = prove(stored, expected, run.messages.length, run.batches.length, run.acknowledged);
  await showCosts(run, stored);
  heading(out, "Checked");
  checks(out, results);
  if (results.some(({ holds }) => !holds)) {
    throw new StoreError("CORRUPT", "the store does not hold what it must hold: see the lines marked ✗");
  }
}

let exitCode = 2;
try {
  const options = readOptions();
  if (options.look !== undefined) {
    showKept(await entriesOf(options.store ?? urlIn(options.look), await readState(options.look)));
  } else {
    const run = await prepare(options);
    exitCode = 1;
    await play(run);
  }
} catch (error) {
  if (!StoreError.is(error)) throw error;
  console.error(`demo: ${error.message}`);
  process.exitCode = exitCode;
}
