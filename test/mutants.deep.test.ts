import { declareMutants } from "./mutants/declare-mutants.ts";

// The others are in mutants.server.test.ts.
declareMutants(["memory", "log", "postgres"]);
