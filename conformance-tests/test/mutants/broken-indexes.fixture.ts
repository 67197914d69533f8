import { brokenIndexes } from "./broken-indexes.ts";
import { declareMutants } from "./mutant.ts";

declareMutants(brokenIndexes);
