import { explore } from "./explore.ts";
import { scopeOf } from "./scopes.ts";
import { runWorlds } from "./world.ts";

// Explores a scope, or runs worlds, on lists that mutated-source.ts has changed, and sends the first problem.

const { MUTANT_SCOPE, MUTANT_SEED = "1" } = process.env;

async function firstProblem(): Promise<string | undefined> {
  if (MUTANT_SCOPE === undefined) return (await runWorlds(Number(MUTANT_SEED), 1_000)).problem;
  return (await explore(scopeOf(...(JSON.parse(MUTANT_SCOPE) as Parameters<typeof scopeOf>)))).problem;
}

const found = await firstProblem().catch((error: unknown) => `failed: ${error}`);
process.send?.({ found });
