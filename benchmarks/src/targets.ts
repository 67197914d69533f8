import { type BackendKey, peerNames } from "./backend.ts";
import type {
  CallRow,
  ChatFigures,
  ChatRow,
  Figures,
  FrameworkFigures,
  FrameworkRow,
  LoadRow,
} from "./figures.ts";

/** One target compared with the measurements. */
export interface Verdict {
  readonly target: string;
  /** The worst figure for it, and its position. */
  readonly worst: string;
  readonly met: boolean;
}

interface Figure {
  readonly value: number;
  readonly where: string;
}

/** The targets of a backend. Ratios are of medians to the raw client's, unless a name states otherwise. */
interface Targets {
  readonly append1: number;
  readonly append20: number;
  readonly reads: number;
  /**
   * Commits per second of 8 writers, on separate threads and on one thread, as a share of raw. On one thread the target is for the
   * writers of one factory, and also for 8 factories.
   */
  readonly many?: number;
  readonly one?: number;
  /** An append to the longest threads, relative to one to the shortest. */
  readonly growth: number;
  /** The minimum ratio of LangChain.js' time for a batch of 20 to Scrollback's. */
  readonly batchLead?: number;
}

const recordLog = { append1: 1.25, append20: 1.25, reads: 1.2, many: 0.8, one: 0.4, growth: 1.1 };

const targetsOf: Readonly<Record<BackendKey, Targets>> = {
  redis: { append1: 1.2, append20: 1.25, reads: 1.15, many: 0.85, one: 0.85, growth: 1.1, batchLead: 8 },
  mongodb: { ...recordLog, batchLead: 50 },
  dynamodb: recordLog,
  postgres: { append1: 1.2, append20: 1.2, reads: 1.15, many: 0.8, one: 0.5, growth: 1.1 },
  "sqlite-full": { append1: 1.25, append20: 1.25, reads: 1.2, growth: 1.1 },
  "sqlite-normal": { append1: 1.6, append20: 1.6, reads: 1.2, growth: 1.1 },
};

/** The longest wait of a commit relative to the mean, where 8 writers write to one thread: each commit waits for its turn. */
const LONGEST_WAIT = 50;
/** One per commit, and one more at every 32nd, which trims. */
const MEAN_TRIPS = 1.1;
/** No slower than other libraries, with a tolerance for noise. */
export const PEER_MARGIN = 1.1;

/** For a list of chats, in the steady state. */
const LIST_REQUESTS = 1;
/** The processor time of storing a turn on SQLite, in milliseconds. */
const TURN_CPU_MS = 5;

/** For a turn of two steps: five writing calls, the messages separately, and the newest checkpoint with its pending writes. */
const LANGGRAPH_REQUESTS = 8;
/** For a turn with a tool call. */
const OPENAI_AGENTS_REQUESTS = 2;

/** Every target that applies to a backend. */
export function judge({ key, calls, load }: Figures): Verdict[] {
  const targets = targetsOf[key];
  const commits = calls.filter(({ kind }) => kind === "commit");
  const named = (operation: string) => commits.filter((row) => row.operation === operation);
  const many = loadRows(load, 8, "many", "many");
  const ofOneFactory = loadRows(load, 8, "one", "one");
  const ofEight = loadRows(load, 8, "one", "many");
  return [
    atMost("round trips per commit, mean", MEAN_TRIPS, roundTrips(commits)),
    atMost("append 1 / raw", targets.append1, overRaw(named("append 1"))),
    atMost("append 20 / raw", targets.append20, overRaw(named("append 20"))),
    atMost("read / raw", targets.reads, overRaw(calls.filter(({ kind }) => kind === "read"))),
    atMost("append at 100,000 / at 10", targets.growth, growth(commits)),
    atLeast("8 factories on 8 threads, commits per second / raw", targets.many, throughput(many)),
    atLeast(
      "8 writers of one factory on one thread, commits per second / raw",
      targets.one,
      throughput(ofOneFactory),
    ),
    atLeast("8 factories on one thread, commits per second / raw", targets.one, throughput(ofEight)),
    targets.one === undefined
      ? undefined
      : atMost(
          "8 writers on one thread, longest wait / mean",
          LONGEST_WAIT,
          longestWait([...ofOneFactory, ...ofEight]),
        ),
    atLeast(
      "batch of 20, LangChain.js / ours",
      targets.batchLead,
      overOurs(named("append 20"), ["LangChain.js"]),
    ),
    atMost("any call, ours / another library", PEER_MARGIN, underPeers(calls)),
  ].filter((verdict) => verdict !== undefined);
}

/** Every target of chats. */
export function judgeChats({ rows, tabs }: ChatFigures): Verdict[] {
  const ours = (operation: ChatRow["operation"], value: (row: OurChats) => number | undefined) =>
    rows
      .filter((row) => row.operation === operation)
      .map(({ chats, results: { Scrollback } }) => ({
        value: (Scrollback && value(Scrollback)) ?? Number.NaN,
        where: `${chats.toLocaleString("en")} chats`,
      }));
  const kept = tabs
    .filter(({ name }) => name === "Scrollback")
    .map(({ fewestKept, tabs: count, rounds }) =>
      atLeast(`messages kept of those that ${count} tabs add concurrently`, count, [
        { value: fewestKept, where: `the worst of ${rounds} rounds` },
      ]),
    );
  return [
    atMost(
      "requests of a list of 30",
      LIST_REQUESTS,
      ours("list 30", ({ requests }) => requests),
    ),
    atMost(
      "processor time of a stored turn on SQLite, ms",
      TURN_CPU_MS,
      ours("store a turn", ({ cpuMicros }) => cpuMicros / 1_000),
    ),
    ...kept,
  ].filter((verdict) => verdict !== undefined);
}

/** Every target of frameworks. */
export function judgeFrameworks({ rows }: FrameworkFigures): Verdict[] {
  const requests = (framework: FrameworkRow["framework"]) =>
    rows
      .filter((row) => row.isOurs && row.framework === framework)
      .map(({ backend, commits = Number.NaN, reads = Number.NaN }) => ({
        value: commits + reads,
        where: backend,
      }));
  const overTheirs = rows
    .filter(({ isOurs, backend }) => isOurs && backend !== "memory")
    .flatMap(({ framework, backend, medianMs }) =>
      rows
        .filter((row) => !row.isOurs && row.framework === framework && row.backend === backend)
        .map((theirs) => ({ value: medianMs / theirs.medianMs, where: theirs.name })),
    );
  return [
    atMost("commits and reads of a LangGraph turn", LANGGRAPH_REQUESTS, requests("LangGraph")),
    atMost(
      "commits and reads of an OpenAI Agents turn",
      OPENAI_AGENTS_REQUESTS,
      requests("OpenAI Agents SDK"),
    ),
    atMost("a turn on a server, ours / the framework's", PEER_MARGIN, overTheirs),
  ].filter((verdict) => verdict !== undefined);
}

type OurChats = NonNullable<ChatRow["results"]["Scrollback"]>;

function roundTrips(rows: readonly CallRow[]): Figure[] {
  return rows.flatMap((row) => {
    const value = row.results.Scrollback?.roundTrips;
    return value === undefined ? [] : [{ value, where: nameOf(row) }];
  });
}

/** The ratios of call times to the raw client's. */
export function overRaw(rows: readonly CallRow[]): Figure[] {
  return rows.map((row) => ({
    value: medianOf(row, "Scrollback") / medianOf(row, "raw"),
    where: nameOf(row),
  }));
}

function growth(commits: readonly CallRow[]): Figure[] {
  const at = (length: number) => commits.filter((row) => row.length === length);
  return at(100_000).map((row) => {
    const short = at(10).find(({ operation }) => operation === row.operation);
    const base = short ? medianOf(short, "Scrollback") : Number.NaN;
    return { value: medianOf(row, "Scrollback") / base, where: row.operation };
  });
}

/** The rows of commits of one message by a number of writers: at most one. */
export function loadRows(
  load: readonly LoadRow[],
  connections: number,
  threads: LoadRow["threads"],
  clients: LoadRow["clients"],
): LoadRow[] {
  return load.filter(
    (row) =>
      row.connections === connections &&
      row.threads === threads &&
      row.clients === clients &&
      row.batch === 1,
  );
}

/** The row of one writer with commits of `batch` messages. */
export function singleWriterRow(load: readonly LoadRow[], batch = 1): LoadRow | undefined {
  return load.find((row) => row.connections === 1 && row.batch === batch);
}

/** Commits per second as a share of the raw client's. */
export function throughput(rows: readonly LoadRow[]): Figure[] {
  return rows.map((row) => ({
    value: (row.results.Scrollback?.perSecond ?? Number.NaN) / (row.results.raw?.perSecond ?? Number.NaN),
    where: writersText(row),
  }));
}

function writersText({ connections, threads, clients }: LoadRow): string {
  return `${connections} ${clients === "one" ? "writers of one client" : "clients"}, ${threads} thread${threads === "one" ? "" : "s"}`;
}

function longestWait(rows: readonly LoadRow[]): Figure[] {
  return rows.map((row) => {
    const { longestMs = Number.NaN, perSecond = Number.NaN } = row.results.Scrollback ?? {};
    return {
      // By Little's law, the mean wait is the number of writers over their throughput.
      value: (longestMs * perSecond) / (1_000 * row.connections),
      where: `${Math.round(longestMs)} ms, ${writersText(row)}`,
    };
  });
}

function overOurs(rows: readonly CallRow[], peers: readonly (typeof peerNames)[number][]): Figure[] {
  return rows.flatMap((row) =>
    peers
      .filter((peer) => row.results[peer])
      .map((peer) => ({
        value: medianOf(row, peer) / medianOf(row, "Scrollback"),
        where: `${nameOf(row)}, ${peer}`,
      })),
  );
}

function underPeers(rows: readonly CallRow[]): Figure[] {
  return overOurs(rows, peerNames).map(({ value, where }) => ({ value: 1 / value, where }));
}

export function medianOf(
  { results }: CallRow,
  name: "raw" | "Scrollback" | (typeof peerNames)[number],
): number {
  return results[name]?.medianMs ?? Number.NaN;
}

export function nameOf({ operation, length }: CallRow): string {
  return `${operation} at ${length.toLocaleString("en")}`;
}

function atMost(what: string, limit: number, figures: readonly Figure[]): Verdict | undefined {
  return verdictOf(`${what}: at most ${limit}`, limit, figures, (value) => value - limit);
}

function atLeast(what: string, limit: number | undefined, figures: readonly Figure[]): Verdict | undefined {
  if (limit === undefined) return undefined;
  return verdictOf(`${what}: at least ${limit}`, limit, figures, (value) => limit - value);
}

/**
 * A value with two decimals; with more if it would otherwise look equal to a limit that it differs from, which would hide whether
 * the target is met.
 */
function textBeside(limit: number, value: number): string {
  for (let decimals = 2; ; decimals++) {
    const text = Number(value.toFixed(decimals));
    if (text !== limit || value === limit || decimals === 6) return String(text);
  }
}

/** @param excess the amount by which a value misses the target; 0 or less meets it. */
function verdictOf(
  target: string,
  limit: number,
  figures: readonly Figure[],
  excess: (value: number) => number,
): Verdict | undefined {
  if (figures.length === 0) return undefined;
  const worst = figures.reduce((one, other) => (excess(one.value) >= excess(other.value) ? one : other));
  const worstText = `${textBeside(limit, worst.value)}, ${worst.where}`;
  return { target, worst: worstText, met: excess(worst.value) <= 0 };
}
