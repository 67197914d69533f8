/**
 * Simulates the processes of a program on a backend behind a network that loses, delays and repeats requests, in virtual time: each
 * run is determined by its seed. For the tests of this repository only.
 *
 * @packageDocumentation
 */
export type { SimulatedClient } from "./client.ts";
export { SimulationFailure } from "./failure.ts";
export { createMemoryBackend } from "./memory-backend.ts";
export { type Run, runScenario, type Scenario } from "./scenario.ts";
export { runScenarioTests } from "./scenario-tests.ts";
export type { Ended, Interval, World } from "./world.ts";
