import { expect, test } from "vitest";
import { type MarkSemantics, soundSemantics } from "../src/directory/marked-notes.ts";
import { World } from "./model/world.ts";

const WORLDS = Number(process.env.SCROLLBACK_WORLDS ?? 60);
const CALLS = 60;
/** Far above the time that a busy machine needs. */
const TIMEOUT_MS = 600_000;

/** Runs worlds until one reports a problem. */
async function firstProblem(worlds: number, suspends: boolean, semantics: Partial<MarkSemantics> = {}) {
  const counts = { lists: 0, deaths: 0, compactions: 0, leaves: 0, purges: 0, expiries: 0, commits: 0 };
  for (let seed = 1; seed <= worlds; seed++) {
    const internals = { semantics: { ...soundSemantics, ...semantics } };
    const world = new World({ seed, suspends, internals });
    await world.run(CALLS);
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += world.counts[name];
    const [problem] = world.problems;
    if (problem !== undefined) return { seed, problem, counts };
  }
  return { seed: undefined, problem: undefined, counts };
}

test(
  "no list has a stale, missing, doubled or removed entry, with processes that die at any moment",
  async () => {
    const { seed, problem, counts } = await firstProblem(WORLDS, false);
    expect({ seed, problem }).toEqual({ seed: undefined, problem: undefined });
    // The worlds included the events that they must test.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(WORLDS / 2);
  },
  TIMEOUT_MS,
);

test(
  "no list misses an acknowledged write when processes are suspended for minutes during one",
  async () => {
    const { seed, problem } = await firstProblem(WORLDS, true);
    expect({ seed, problem }).toEqual({ seed: undefined, problem: undefined });
  },
  TIMEOUT_MS,
);

test.each<[string, Partial<MarkSemantics>]>([
  ["marks after the write", { marksFirst: false }],
  ["trusts every entry", { counts: () => true }],
  ["closes the marks of all incarnations at the end of one", { closes: () => true }],
])(
  "a directory that %s is detected",
  async (_name, semantics) => {
    const { problem } = await firstProblem(WORLDS, false, semantics);
    expect(problem).toBeDefined();
  },
  TIMEOUT_MS,
);
