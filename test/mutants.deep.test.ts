import { declareMutants } from "./mutants/declare-mutants.ts";

declareMutants("documents", "sqlite-documents", "sqlite", "redis", "postgres");
