import { brokenSurroundings } from "./broken-surroundings.ts";
import { declareMutants } from "./mutant.ts";

declareMutants(brokenSurroundings);
