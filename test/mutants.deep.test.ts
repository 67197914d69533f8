import { declareMutants } from "./mutants/declare-mutants.ts";

// `npm test` has the mutants of the suite (conformance-mutants.server.test.ts) and of the record log (simulator-mutants.server.test.ts).
declareMutants(["memory", "log", "loopback", "sqlite", "redis", "postgres"]);
