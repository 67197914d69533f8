import { deepStrictEqual } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer } from "../../../conformance-tests/servers/index.ts";
import type { Progress } from "../calls.ts";
import { countKinds } from "../chats/requests.ts";
import { measureInTurn } from "../chats/windows.ts";
import { type FrameworkFigures, type FrameworkRow, rounded, watchMachine } from "../figures.ts";
import type { LoadEffort } from "../load.ts";
import { countRoundTrips } from "../round-trips.ts";
import { versionOf } from "../versions.ts";
import { answerTo, questionOf, TOOL_RESULT, type TurnContestant } from "./contestant.ts";
import { localContestants, mongoContestants, postgresContestants } from "./contestants.ts";

const FOLDER = fileURLToPath(new URL("../../.results/", import.meta.url));
/** The number of turns of each thread. */
const TURNS = 10;
/** The number of threads over which the size at rest is counted. */
const COUNTED_THREADS = 20;

/** The counts of a contestant. */
type Counted = Pick<FrameworkRow, "commits" | "reads" | "roundTrips" | "bytes">;

/** Measures a turn of LangGraph and of the OpenAI Agents SDK, on Scrollback's bridges and on the frameworks' own classes. */
export async function measureFrameworks(effort: LoadEffort, progress: Progress): Promise<FrameworkFigures> {
  const { signal, report } = progress;
  const machineUntilNow = watchMachine();
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, "frameworks-"));
  await using server = await startServer("postgres");
  await using mongo = await startServer("mongodb");
  const counter = await countRoundTrips(server);
  const proxied = new URL(server.url);
  proxied.host = `127.0.0.1:${counter.port}`;
  const opened: TurnContestant[] = [];
  const open = async (url: string, name: string) => {
    const path = join(folder, name);
    mkdirSync(path);
    const contestants = [
      ...localContestants(path),
      ...(await mongoContestants(mongo.url, name)),
      ...(await postgresContestants(url, name)),
    ];
    opened.push(...contestants);
    return contestants;
  };
  try {
    const counts = new Map<string, Counted>();
    for (const contestant of await open(proxied.href, "counted")) {
      report(`counting ${idOf(contestant)}`);
      counts.set(idOf(contestant), await countTurns(contestant, counter.count));
      signal.throwIfAborted();
    }
    report("measuring turns");
    const contestants = await open(server.url, "measured");
    const timed = await measureInTurn(contestants.map(repeatedTurns), effort, signal);
    const rows = contestants.map((contestant): FrameworkRow => {
      const { framework, backend, name, isOurs } = contestant;
      const id = idOf(contestant);
      const timing = timed[id];
      if (!timing) throw new Error(`${id} was not measured`);
      return { framework, backend, name, isOurs, ...timing, ...counts.get(id) };
    });
    const versions = [
      ...[
        "@langchain/langgraph",
        "@langchain/langgraph-checkpoint",
        "@langchain/langgraph-checkpoint-mongodb",
        "@langchain/langgraph-checkpoint-postgres",
      ],
      "@openai/agents-core",
    ].map((name) => `${name} ${versionOf(name)}`);
    versions.push(
      `SQLite ${process.versions.sqlite} (node:sqlite), WAL, synchronous NORMAL`,
      `${mongo.product} ${mongo.version}, write concern majority, mongodb ${versionOf("mongodb")}`,
      `${server.product} ${server.version}, synchronous_commit on, pg ${versionOf("pg")}`,
    );
    return { machine: machineUntilNow(), versions, turns: TURNS, rows };
  } finally {
    for (const contestant of opened) await contestant.close();
    await counter.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const idOf = ({ framework, backend, name }: TurnContestant) => `${framework}, ${backend}, ${name}`;

/** Repeats turns: a thread has ten, then a new thread begins. */
function repeatedTurns(contestant: TurnContestant) {
  let number = 0;
  return {
    name: idOf(contestant),
    prepare() {
      const turn = number % TURNS;
      const threadId = `thread-${Math.floor(number / TURNS)}`;
      number += 1;
      return () => contestant.turn(threadId, questionOf(turn));
    },
  };
}

/** Counts the turns of each thread after the first, and checks that the thread has all of them. */
export async function countTurns(contestant: TurnContestant, roundTrips: () => number): Promise<Counted> {
  const { framework, backend, isOurs } = contestant;
  // The costs of a connection and of a first thread are not part of a turn.
  await contestant.turn("first", questionOf(0));
  const bytesBefore = await contestant.bytes?.();
  const counted = { commits: 0, reads: 0, roundTrips: 0 };
  for (let thread = 0; thread < COUNTED_THREADS; thread++) {
    for (let turn = 0; turn < TURNS; turn++) {
      const tripsBefore = roundTrips();
      const requests = await countKinds(() => contestant.turn(`counted-${thread}`, questionOf(turn)));
      if (turn === 0) continue;
      counted.commits += requests.commits;
      counted.reads += requests.reads;
      counted.roundTrips += roundTrips() - tripsBefore;
    }
  }
  const expected = Array.from({ length: TURNS }, (_, turn) => {
    const question = questionOf(turn);
    return framework === "LangGraph"
      ? [question, answerTo(question)]
      : [question, TOOL_RESULT, answerTo(question)];
  });
  deepStrictEqual(await contestant.read(`counted-${COUNTED_THREADS - 1}`), expected.flat());
  const bytes = await contestant.bytes?.();
  const perTurn = (count: number) => rounded(count / (COUNTED_THREADS * (TURNS - 1)));
  return {
    ...(isOurs && { commits: perTurn(counted.commits), reads: perTurn(counted.reads) }),
    ...(backend === "PostgreSQL" && { roundTrips: perTurn(counted.roundTrips) }),
    ...(bytes !== undefined &&
      bytesBefore !== undefined && { bytes: rounded((bytes - bytesBefore) / (COUNTED_THREADS * TURNS)) }),
  };
}
