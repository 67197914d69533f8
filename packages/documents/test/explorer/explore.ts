import { Drivers } from "./drivers.ts";
import { isLinearizable } from "./history.ts";
import type { Scope } from "./scope.ts";
import { hashOf, settled, Violation, World } from "./world.ts";

/** The result of an exploration. */
export interface Explored {
  readonly executions: number;
  readonly states: number;
  /** Whether every order was explored. */
  readonly isComplete: boolean;
  /** The first broken promise, and the steps that lead to it. */
  readonly found?: {
    readonly message: string;
    readonly steps: readonly string[];
  };
}

interface Choice {
  /** The step that is taken now. */
  taken: number;
  /** The number of steps that can be taken. */
  readonly count: number;
}

/**
 * Explores a scope to the end, or for a number of executions: runs it again and again, each time with another order of steps.
 * Two executions that lead to the same state are continued once.
 */
export async function explore(scope: Scope, mostExecutions = Number.POSITIVE_INFINITY): Promise<Explored> {
  const drivers = new Drivers();
  const choices: Choice[] = [];
  const seen = new Set<string>();
  for (let executions = 1; ; executions++) {
    const found = await execute(new World(scope, drivers), scope, choices, seen);
    if (found) return { executions, states: seen.size, isComplete: false, found };
    for (let last = choices.at(-1); last && ++last.taken >= last.count; last = choices.at(-1)) choices.pop();
    const isComplete = choices.length === 0;
    if (isComplete || executions >= mostExecutions) return { executions, states: seen.size, isComplete };
    if (executions % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Follows the choices, and then always takes the first step, up to a state that was seen before. */
async function execute(
  world: World,
  scope: Scope,
  choices: Choice[],
  seen: Set<string>,
): Promise<Explored["found"]> {
  const names: string[] = [];
  try {
    await world.begin();
    await settled();
    for (let depth = 0; ; depth++) {
      const isNew = depth === choices.length;
      if (isNew) {
        const key = hashOf(world.key());
        if (seen.has(key)) return undefined;
        seen.add(key);
      }
      const { steps, isQuiet } = world.steps();
      if (isNew) {
        if (isQuiet) await conclude(scope, world);
        if (steps.length === 0) return undefined;
        choices.push({ taken: 0, count: steps.length });
        // The state is lost by the conclusion.
        if (isQuiet) {
          choices[depth] = { taken: -1, count: steps.length };
          return undefined;
        }
      }
      const step = steps[choices[depth]?.taken ?? 0];
      if (!step) return undefined;
      names.push(step.name());
      await step.take();
      await settled();
      world.afterStep();
      await settled();
    }
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const events = world.events.map((event) => JSON.stringify(event));
    return {
      message: error.message,
      steps: [...names, ...events],
    };
  }
}

async function conclude(scope: Scope, world: World): Promise<void> {
  await world.conclude();
  const skew = Math.max(0, ...(scope.skews ?? []).map(Math.abs));
  if (!isLinearizable(world.events, skew))
    throw new Violation("the calls did not take effect one after the other");
}
