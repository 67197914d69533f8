import { brokenCommits } from "./broken-commits.ts";
import { declareMutants } from "./mutant.ts";

declareMutants(brokenCommits);
