/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
export { type CountedLog, recordLogAccess } from "./conformance/record-log-harness.ts";
export type { SimulatedClient } from "./simulator/client.ts";
export { SimulationFailure } from "./simulator/failure.ts";
export { Register } from "./simulator/register.ts";
export type { Ended, Interval, Scenario, World } from "./simulator/scenario.ts";
export { runScenarioTests } from "./simulator/scenario-tests.ts";
export type { SimulationOptions, SimulationResult } from "./simulator/simulation.ts";
