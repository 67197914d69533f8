import { declareMutants } from "./mutants/declare-mutants.ts";

// The mutants of the suite itself. The deep plan has those of the adapters.
declareMutants("memory", "late", "slow", "loopback");
