import { explore, type Scope } from "./explore.ts";
import { runWorlds } from "./world.ts";

// Explores scopes, and runs worlds, and sends the first problem. A process of its own, because chance and timers are replaced meanwhile;
// perhaps on lists that mutated-source.ts has changed.

/** What the variable `LISTS` has as JSON. */
export interface ListsRun {
  readonly scopes?: readonly Scope[];
  readonly mostExecutions?: number;
  /** The first seed and the number of worlds. */
  readonly worlds?: readonly [seed: number, count: number];
  /** Sends the trace, too. */
  readonly isTraced?: boolean;
}

const { scopes = [], mostExecutions, worlds, isTraced }: ListsRun = JSON.parse(process.env.LISTS ?? "{}");

async function firstProblem(): Promise<string | undefined> {
  const told = ({ problem, trace = [] }: { problem?: string; trace?: readonly string[] }, name: string) =>
    problem && (isTraced ? [`${name}: ${problem}`, ...trace].join("\n") : problem);
  for (const scope of scopes) {
    const problem = told(await explore(scope, mostExecutions), scope.name);
    if (problem) return problem;
  }
  if (!worlds) return undefined;
  const { counts, ...found } = await runWorlds(...worlds);
  const problem = told(found, "worlds");
  if (problem || !isTraced || worlds[1] < 1_000) return problem;
  // The worlds included the events that they must test.
  return Object.entries(counts).find(([, count]) => count <= worlds[1] / 20)?.[0];
}

const found = await firstProblem().catch((error: unknown) => `failed: ${error}`);
process.send?.({ found });
