import { brokenReads } from "./broken-reads.ts";
import { declareMutants } from "./mutant.ts";

declareMutants(brokenReads);
