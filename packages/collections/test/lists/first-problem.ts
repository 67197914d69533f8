import type { SourceChange } from "../../../../conformance-tests/test/fixtures/source-mutants/mutate.ts";
import { runMutated } from "../../../../conformance-tests/test/fixtures/source-mutants/run-mutated.ts";
import type { ListsRun } from "./worker.ts";

/** Runs worlds and scopes in another process, on changed sources. Resolves to the first problem. */
export async function firstProblem(
  run: ListsRun,
  changes: readonly SourceChange[] = [],
): Promise<string | undefined> {
  const worker = new URL("worker.ts", import.meta.url);
  return await runMutated<string>(worker, changes, { LISTS: JSON.stringify(run) });
}
