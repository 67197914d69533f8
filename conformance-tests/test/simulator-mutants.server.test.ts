import { fork } from "node:child_process";
import { expect, test } from "vitest";
import { runSimulation, type SimulationReport } from "../src/simulator/index.ts";
import type { Mutant } from "./simulator-mutants/mutant.ts";
import { mutants } from "./simulator-mutants/mutants.ts";

/**
 * A mutant's first run notices it, as long as the driver makes the same requests. After a change of the driver another run
 * may be the first to do so.
 */
const STEPS = 100_000;

test.each(mutants)("the simulator fails a driver without: $rule", async (mutant) => {
  const { failures } = await simulateMutant(mutant);
  const [failed] = failures;
  if (!failed) throw new Error(`${mutant.profile} from seed ${mutant.seed}: no run failed`);
  expect(failed.rule).not.toBe("crash");
  const { failure } = await runSimulation(failed.options);
  expect(failure, "the same run of the driver as it is").toBeUndefined();
});

/** Runs the changed driver in a process of its own, which loads its modules from their source. */
async function simulateMutant({ changes, profile, seed }: Mutant): Promise<SimulationReport> {
  const child = fork(new URL("simulator-mutants/worker.ts", import.meta.url), {
    execArgv: ["--import", new URL("simulator-mutants/mutated-source.ts", import.meta.url).href],
    env: {
      ...process.env,
      MUTANT_CHANGES: JSON.stringify(changes),
      MUTANT_PROFILE: profile,
      MUTANT_SEED: String(seed),
      MUTANT_STEPS: String(STEPS),
    },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  return await new Promise((resolve, reject) => {
    child.once("message", (report: SimulationReport) => resolve(report));
    child.once("error", reject);
    child.once("close", (code) => reject(new Error(`the process ended with exit code ${code}`)));
  });
}
