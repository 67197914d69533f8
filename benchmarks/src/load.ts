import { randomUUID } from "node:crypto";
import type { Backend, Contestant, Thread } from "./backend.ts";
import type { Progress } from "./calls.ts";
import { type Load, type LoadRow, rounded, timingOf } from "./figures.ts";
import { messagesFrom } from "./messages.ts";
import { seededRandom, shuffled } from "./random.ts";

/** The length and the number of each contestant's time windows. */
export interface LoadEffort {
  readonly windowMs: number;
  readonly windows: number;
}

/** The duration of the measurement of chats. */
export interface ChatEffort {
  /** The numbers of chats of the owners. */
  readonly chats: readonly number[];
  readonly calls: LoadEffort;
  /** The number of rounds in which the tabs write. */
  readonly rounds: number;
}

/** The measured setups, in the order of the report. A single connection shows the processor time of a commit. */
const setups = [
  { connections: 1, threads: "one", clients: "one", batch: 1 },
  { connections: 1, threads: "one", clients: "one", batch: 20 },
  { connections: 8, threads: "many", clients: "many", batch: 1 },
  { connections: 8, threads: "one", clients: "one", batch: 1 },
  { connections: 8, threads: "one", clients: "many", batch: 1 },
  { connections: 64, threads: "many", clients: "many", batch: 1 },
  { connections: 64, threads: "one", clients: "one", batch: 1 },
  { connections: 64, threads: "one", clients: "many", batch: 1 },
] as const satisfies Omit<LoadRow, "results">[];

/** The writers. Other libraries are left out, because many writers corrupt their threads. */
const writers = ["raw", "Scrollback"] as const;

/** The length to which threads are trimmed. */
const MAX_MESSAGES = 1_000;

/** Clients of one contestant whose writers write to their threads, and their results. */
interface Team {
  readonly name: (typeof writers)[number];
  readonly contestants: readonly Contestant[];
  readonly threads: readonly Thread[];
  readonly times: number[];
  failures: number;
  spentMs: number;
  clientMicros: number;
  serverMicros: number;
  position: number;
}

/** Measures many writers in this process. Contestants write in turn, one time window each, in random order. */
export async function measureLoad(
  backend: Backend,
  effort: LoadEffort,
  { signal, report }: Progress,
): Promise<LoadRow[]> {
  const rows: LoadRow[] = [];
  for (const setup of setups) {
    const { connections, threads, clients, batch } = setup;
    report(`measuring ${connections} writers of ${clients} on ${threads} of ${batch}`);
    const teams: Team[] = [];
    try {
      for (const name of writers) teams.push(await assemble(backend, name, setup));
      const random = seededRandom(1);
      // The first window warms up connections and caches, and fills the threads.
      for (const team of teams) await write(team, batch, effort.windowMs);
      for (const team of teams) Object.assign(team, { failures: 0 }).times.length = 0;
      // Fewer windows if commits take longer than a window: each window ends when its last commit does.
      const enough = effort.windows * effort.windowMs;
      for (let waiting: Team[] = teams; waiting.length > 0; ) {
        for (const team of shuffled(waiting, random))
          await writeMeasured(backend, team, batch, effort.windowMs);
        waiting = waiting.filter(({ spentMs }) => spentMs < enough);
        signal.throwIfAborted();
      }
      const results = Object.fromEntries(teams.map((team) => [team.name, loadOf(backend, team)]));
      rows.push({ ...setup, results });
    } finally {
      for (const { contestants } of teams) for (const contestant of contestants) await contestant.close();
    }
  }
  return rows;
}

async function assemble(
  { connect, location }: Backend,
  name: Team["name"],
  { connections, threads, clients }: Omit<LoadRow, "results">,
): Promise<Team> {
  const contestants = await Promise.all(
    Array.from({ length: clients === "one" ? 1 : connections }, () => connect[name](location.url)),
  );
  const ids = Array.from({ length: threads === "one" ? 1 : connections }, () => randomUUID());
  return {
    name,
    contestants,
    threads: Array.from({ length: connections }, (_, index) => {
      const contestant = contestants[index % contestants.length];
      if (!contestant) throw new RangeError("a team has a client");
      return contestant.open(ids[index % ids.length] ?? "", MAX_MESSAGES);
    }),
    times: [],
    failures: 0,
    spentMs: 0,
    clientMicros: 0,
    serverMicros: 0,
    position: 0,
  };
}

/** Appends to all threads of a team for a while, one commit after the other on each. */
async function write(team: Team, batch: number, windowMs: number): Promise<void> {
  const end = performance.now() + windowMs;
  await Promise.all(
    team.threads.map(async (thread) => {
      while (performance.now() < end) {
        const call = thread.append(messagesFrom(team.position, batch));
        team.position += batch;
        const begin = performance.now();
        await call().then(
          () => team.times.push(performance.now() - begin),
          () => {
            team.failures += 1;
          },
        );
      }
    }),
  );
}

async function writeMeasured(backend: Backend, team: Team, batch: number, windowMs: number): Promise<void> {
  const server = (await backend.serverCpu?.()) ?? 0;
  const client = process.cpuUsage();
  const begin = performance.now();
  await write(team, batch, windowMs);
  team.spentMs += performance.now() - begin;
  const { user, system } = process.cpuUsage(client);
  team.clientMicros += user + system;
  team.serverMicros += ((await backend.serverCpu?.()) ?? 0) - server;
}

function loadOf({ serverCpu }: Backend, team: Team): Load {
  const { times, failures, spentMs, clientMicros, serverMicros } = team;
  return {
    ...timingOf(times),
    perSecond: rounded((1_000 * times.length) / spentMs),
    failures,
    clientCpuMicros: rounded(clientMicros / times.length),
    ...(serverCpu && { serverCpuMicros: rounded(serverMicros / times.length) }),
  };
}
