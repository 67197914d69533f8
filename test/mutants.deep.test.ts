import { declareMutants } from "./mutants/declare-mutants.ts";

declareMutants("documents", "sqlite", "redis", "postgres");
