export type { Fault, FaultScene, ServerControl } from "./faults.ts";
export { formatLoad, type LoadFigure, type LoadOptions, underLoad } from "./load.ts";
export { type FaultOptions, runFaults } from "./run-faults.ts";
export { type SpawnedServer, type SpawnedServerOptions, spawnServer } from "./spawned-server.ts";
