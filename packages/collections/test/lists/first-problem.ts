import { runMutated } from "../../../../test/mutants/run-mutated.ts";
import type { SourceChange } from "../../../../test/mutants/table.ts";
import type { ListsRun } from "./worker.ts";

/** Runs worlds and scopes in another process, on changed sources. Resolves to the first problem. */
export async function firstProblem(
  run: ListsRun,
  changes: readonly SourceChange[] = [],
): Promise<string | undefined> {
  const worker = new URL("worker.ts", import.meta.url);
  return await runMutated<string>(worker, changes, { LISTS: JSON.stringify(run) });
}
