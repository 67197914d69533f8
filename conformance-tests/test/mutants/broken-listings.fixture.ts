import { brokenListings } from "./broken-listings.ts";
import { declareMutants } from "./mutant.ts";

declareMutants(brokenListings);
