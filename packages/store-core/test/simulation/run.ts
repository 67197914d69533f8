import { createMemoryBackend, type Run, runScenario } from "../../../simulator/src/index.ts";
import { StoreScenario } from "./store-scenario.ts";

/** Runs one simulation of portable stores: several processes on one memory driver behind a faulty network. */
export const run: Run = (options) => {
  let scenario: StoreScenario | undefined;
  return runScenario(
    {
      name: "portable store",
      acts: 250,
      createBackend: (world) =>
        createMemoryBackend(world, {
          onCommit({ operationId }, { outcome, revision }) {
            if (outcome === "committed" && revision !== null) scenario?.committed(operationId, revision);
          },
          onDelete({ operationId }, { outcome }) {
            if (outcome === "deleted") scenario?.deleted(operationId);
          },
        }),
      create: (world) => {
        scenario = new StoreScenario(world);
        return scenario;
      },
    },
    options,
  );
};
