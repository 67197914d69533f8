import {
  createMemoryBackend,
  runScenario,
  type ScenarioSetup,
  type SimulatedBackend,
  type SimulationOptions,
  type SimulationResult,
  type World,
} from "../../../simulator/src/index.ts";
import { type StoreEffects, StoreScenario } from "./store-scenario.ts";

/** What stores are simulated on. */
export interface StoreSubject extends Omit<ScenarioSetup, "acts" | "create" | "createBackend"> {
  /** Makes the backend, which reports what takes effect. */
  createBackend(world: World, effects: StoreEffects): SimulatedBackend;
  /** The milliseconds before and after its expiry, by the backend's clock, in which a thread may exist or not. */
  readonly toleranceMs: number;
}

/** Runs one simulation of portable stores: several processes on one memory driver behind a faulty network. */
export function run(options: SimulationOptions): Promise<SimulationResult> {
  return runStores(
    {
      name: "portable store",
      toleranceMs: 0,
      createBackend: (world, effects) =>
        createMemoryBackend(world, {
          onCommit({ operationId }, { outcome, revision }) {
            if (outcome === "committed" && revision !== null) effects.committed(operationId, revision);
          },
          onDelete({ operationId }, { outcome }) {
            if (outcome === "deleted") effects.deleted(operationId);
          },
        }),
    },
    options,
  );
}

/** Runs one simulation of portable stores on any driver. */
export function runStores(subject: StoreSubject, options: SimulationOptions): Promise<SimulationResult> {
  let scenario: StoreScenario | undefined;
  const effects: StoreEffects = {
    committed: (id, revision) => scenario?.committed(id, revision),
    deleted: (id) => scenario?.deleted(id),
  };
  return runScenario(
    {
      ...subject,
      acts: 250,
      createBackend: (world) => subject.createBackend(world, effects),
      create: (world) => {
        scenario = new StoreScenario(world, subject.toleranceMs);
        return scenario;
      },
    },
    options,
  );
}
