import { randomUUID } from "node:crypto";
import type { Backend } from "./backend.ts";
import type { Measured } from "./calls.ts";
import { type Contestant, MAX_MESSAGES, scrollback, type Thread } from "./contestant.ts";
import { messagesFrom } from "./messages.ts";
import { seededRandom, shuffled } from "./random.ts";
import { type RowName, rounded } from "./results.ts";

/** The length and the number of each contestant's time windows. */
export interface Windows {
  readonly windowMs: number;
  readonly windows: number;
}

const WRITERS = 8;

const setups = [
  { name: "8 factories, 8 threads", factories: WRITERS, threads: WRITERS },
  { name: "8 writers of one factory, one thread", factories: 1, threads: 1 },
  { name: "8 factories, one thread", factories: WRITERS, threads: 1 },
] as const satisfies { name: RowName; factories: number; threads: number }[];

/** The writers of one contestant, and what they have done. */
interface Team {
  readonly contestants: readonly Contestant[];
  readonly threads: readonly Thread[];
  commits: number;
  failed: number;
  spentMs: number;
}

/**
 * Measures eight writers of one process that append one message after the other without a pause. Raw and ours write in turn, one
 * time window each, in random order. Other libraries are left out, because many writers corrupt their threads.
 */
export async function measureWriters(
  { definition, url }: Backend,
  { windowMs, windows }: Windows,
): Promise<Measured[]> {
  const rows: Measured[] = [];
  for (const { name, factories, threads } of setups) {
    const raw = await assemble(factories, threads, () => definition.raw(url));
    const ours = await assemble(factories, threads, async () =>
      scrollback(definition.stores(url, MAX_MESSAGES)),
    );
    const teams = [raw, ours];
    const random = seededRandom(1);
    for (const team of teams) await write(team, windowMs);
    // The first window warms up.
    for (const team of teams) Object.assign(team, { commits: 0, failed: 0, spentMs: 0 });
    for (let window = 0; window < windows; window++) {
      for (const team of shuffled(teams, random)) await write(team, windowMs);
    }
    for (const { contestants } of teams) for (const contestant of contestants) await contestant.close();
    rows.push({
      name,
      raw: perSecond(raw),
      ours: perSecond(ours),
      ...(ours.failed > 0 && { failed: ours.failed }),
    });
  }
  return rows;
}

async function assemble(
  factories: number,
  threads: number,
  connect: () => Promise<Contestant>,
): Promise<Team> {
  const contestants = await Promise.all(Array.from({ length: factories }, connect));
  const ids = Array.from({ length: threads }, () => randomUUID());
  const opened = Array.from({ length: WRITERS }, (_, writer) =>
    contestants[writer % factories]?.open(ids[writer % threads] ?? ""),
  );
  return {
    contestants,
    threads: opened.filter((thread) => thread !== undefined),
    commits: 0,
    failed: 0,
    spentMs: 0,
  };
}

/** Each writer appends for a while; the window ends when the last commit does. */
async function write(team: Team, windowMs: number): Promise<void> {
  const begin = performance.now();
  await Promise.all(
    team.threads.map(async (thread) => {
      for (let position = 0; performance.now() < begin + windowMs; position++) {
        await thread
          .append(messagesFrom(position, 1))()
          .then(
            () => {
              team.commits += 1;
            },
            () => {
              team.failed += 1;
            },
          );
      }
    }),
  );
  team.spentMs += performance.now() - begin;
}

const perSecond = ({ commits, spentMs }: Team) => rounded((1_000 * commits) / spentMs);
