/**
 * A simulator of clients on a record log that loses, delays and repeats requests, in virtual time.
 *
 * @packageDocumentation
 */
export { formatReport } from "./report.ts";
export { runScenario } from "./scenario.ts";
export { simulate } from "./simulate.ts";
export { runSimulation } from "./simulation.ts";
