import { declareMutants } from "./mutants/declare-mutants.ts";

// `npm test` has the mutants of the suite (conformance-mutants.server.test.ts).
declareMutants(["memory", "documents", "loopback", "sqlite", "redis", "postgres"]);
