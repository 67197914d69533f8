import { brokenDeletions } from "./broken-deletions.ts";
import { declareMutants } from "./mutant.ts";

declareMutants(brokenDeletions);
