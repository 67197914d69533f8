import { explore } from "./explore.ts";
import { largeScopes, smallScopes } from "./scopes.ts";

// Explores scopes in a process of its own, whose source mutated-source.ts may have changed, and sends the first broken promise.

const names = process.env.MUTANT_SCOPE?.split("|");
const scopes = [...smallScopes, ...largeScopes].filter(({ name }) => !names || names.includes(name));
let found: string | undefined;
for (const scope of scopes) {
  const began = performance.now();
  const explored = await explore(scope, Number(process.env.EXECUTIONS ?? 20_000));
  found ??= explored.found?.message;
  if (!process.send) {
    const { states, executions, isComplete } = explored;
    console.log(
      `${scope.name}: ${states} states, ${executions} executions, ${isComplete}, ${Math.round(performance.now() - began)} ms`,
    );
    if (explored.found) console.log(explored.found);
  }
}
process.send?.({ found });
