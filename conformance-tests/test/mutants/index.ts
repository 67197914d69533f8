import { brokenCommits } from "./broken-commits.ts";
import { brokenDeletions } from "./broken-deletions.ts";
import { brokenIndexes } from "./broken-indexes.ts";
import { brokenListings } from "./broken-listings.ts";
import { brokenReads } from "./broken-reads.ts";
import { brokenSurroundings } from "./broken-surroundings.ts";
import type { Mutant } from "./mutant.ts";

export const mutants: readonly Mutant[] = [
  ...brokenCommits,
  ...brokenReads,
  ...brokenSurroundings,
  ...brokenListings,
  ...brokenDeletions,
  ...brokenIndexes,
];

/** The name of the backend without a fault, from which the mutants are made. */
export const SOUND = "is sound";

/** The name of a backend without a fault that is slow, like every backend on a busy machine. */
export const SLOW = "is slow";
