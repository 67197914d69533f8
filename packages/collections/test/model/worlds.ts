import { type MarkSemantics, soundSemantics } from "../../src/directory/marked-notes.ts";
import { noCounts, World } from "./world.ts";

const CALLS = 60;

/** Runs worlds until one reports a problem. */
export async function firstProblem(
  worlds: number,
  suspends: boolean,
  semantics: Partial<MarkSemantics> = {},
  firstSeed = 1,
) {
  const counts = noCounts();
  for (let seed = firstSeed; seed < firstSeed + worlds; seed++) {
    const internals = { semantics: { ...soundSemantics, ...semantics } };
    const world = new World({ seed, suspends, internals });
    await world.run(CALLS);
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += world.counts[name];
    const [problem] = world.problems;
    if (problem !== undefined) return { seed, problem, counts };
  }
  return { seed: undefined, problem: undefined, counts };
}
