import { Random } from "@scrollback/conformance/internal";
import type { Trimming } from "@scrollback/store-core";
import type { MessageKind } from "@scrollback/store-core/internal";
import { DAY, HOUR, MINUTE, SECOND } from "./network.ts";
import { LARGEST_SKEW } from "./thread-model.ts";

/**
 * The kind of a run.
 *
 * - `steady`: common faults, several clients.
 * - `calm`: few faults, many commits.
 * - `quiet`: one client and no faults, to count requests.
 * - `wild`: pauses are five times as common; threads expire and begin again.
 * - `slow`: commits are days apart, and writes take days.
 * - `deep`: many messages, and deep drops.
 * - `brief`: threads expire after seconds.
 * - `large`: most commits do not fit a row.
 * - `silences`: bursts of commits, and silences that end about when rows expire; many writes take days.
 * - `busy`: clients commit without pauses, so dozens of commits are made during one commit; few messages are kept.
 * - `cold`: hundreds of messages are kept, drops are deep, and clients often have no cached state.
 * - `deletions`: threads are deleted, sometimes by several clients at once; silences end about when their rows expire.
 * - `endings`: the same, with writes that take weeks, deletions that stay half done, and expiries that are raised weeks ahead.
 * - `hostile`: rows of one thread are damaged; another thread must not be affected.
 */
export const profileNames = [
  "steady",
  "calm",
  "quiet",
  "wild",
  "slow",
  "deep",
  "brief",
  "large",
  "silences",
  "busy",
  "cold",
  "deletions",
  "endings",
  "hostile",
] as const;
export type ProfileName = (typeof profileNames)[number];

export interface Profile {
  readonly name: ProfileName;
  readonly clients: number;
  /** The number of parallel calls of a client. */
  readonly actors: number;
  readonly acts: number;
  /** Factors on how often requests fail, and on how often they are slow. */
  readonly faultFactor: number;
  readonly delayFactor: number;
  /** The share of writes that take days. */
  readonly daysUnderWay: number;
  readonly mostDaysUnderWay: number;
  /** The share of torn amendments that stay half done, because their client dies. */
  readonly halfAmendments: number;
  readonly largestSkew: number;
  readonly maxRowBytes: number;
  readonly returnsWinner: boolean;
  readonly omitsTexts: boolean;
  /** The settings of the stores that write to the same thread; each commit picks one. */
  readonly ttls: readonly (number | undefined)[];
  readonly limits: readonly (number | undefined)[];
  readonly trimmings: readonly Trimming[];
  readonly kinds: readonly MessageKind[];
  /** The depth of drops: `cold` threads are deeper than `deep` ones. */
  readonly depth: "ordinary" | "deep" | "cold";
  /** The share of texts that may not fit a row. */
  readonly largeTexts: number;
  /** The time between two acts of an actor: shares of acts with their longest waits, in order. */
  readonly waits: readonly (readonly [share: number, upTo: number])[];
  /** The rate of long silences of all clients, per act. */
  readonly silences: number;
  /** Whether silences end about when rows of the thread expire. */
  readonly isAimed: boolean;
  /** Whether the backend deletes expired rows often while clients act, and seldom in silences. */
  readonly isSweptOften: boolean;
  /** The rate at which a client gets a new driver, per act. */
  readonly restarts: number;
  /** The share of retries that come after hours or days. */
  readonly lateRetries: number;
  /** The share of acts that delete the thread. */
  readonly deletions: number;
  /** The share of acts that make many commits at once. */
  readonly bursts: number;
  /** The share of writes that are aborted while they are under way. */
  readonly aborts: number;
}

const ordinaryWaits: Profile["waits"] = [
  [0.9, 2 * SECOND],
  [0.96, 10 * MINUTE],
  [0.98, 3 * HOUR],
  [0.992, 30 * HOUR],
  [1, 12 * DAY],
];
const coldWaits: Profile["waits"] = [
  [0.998, 2 * SECOND],
  [1, 3 * DAY],
];
const slowWaits: Profile["waits"] = [
  [0.75, 2 * SECOND],
  [0.97, 10 * HOUR],
  [0.995, 2 * DAY],
  [1, 40 * DAY],
];
const mixedTtls = [[undefined], [undefined], [HOUR, 7 * DAY], [undefined, HOUR, 7 * DAY, 30 * DAY]] as const;
const slowTtls = [
  [7 * DAY],
  [HOUR, 7 * DAY],
  [HOUR, 30 * DAY],
  [7 * DAY, undefined],
  [HOUR, 7 * DAY, 30 * DAY, undefined],
] as const;
const wildTtls = [
  [undefined, HOUR, 7 * DAY, 30 * DAY],
  [HOUR, 30 * DAY],
] as const;
const briefTtls = [
  [2 * SECOND, 10 * SECOND],
  [5 * SECOND, HOUR],
  [20 * SECOND, MINUTE, undefined],
] as const;
const silentTtls = [
  [HOUR],
  [HOUR, HOUR, HOUR, 30 * DAY],
  [HOUR, 7 * DAY],
  [7 * DAY],
  [20 * HOUR, 2 * DAY],
  [7 * DAY, 30 * DAY, undefined],
] as const;
const endingTtls = [
  [undefined],
  [35 * DAY],
  [18 * DAY, 35 * DAY],
  [HOUR, 90 * DAY],
  [2 * DAY, 7 * DAY, 90 * DAY],
  [35 * DAY, undefined],
] as const;
const busyTtls = [[undefined], [undefined], [7 * DAY], [2 * SECOND, undefined], [3 * SECOND]] as const;
/** The weight of each profile. */
const weights: readonly (readonly [ProfileName, number])[] = [
  ["steady", 4],
  ["calm", 2],
  ["wild", 6],
  ["slow", 6],
  ["deep", 2],
  ["brief", 2],
  ["large", 3],
  ["silences", 4],
  ["busy", 2],
  ["cold", 1],
  ["deletions", 4],
  ["endings", 4],
  ["hostile", 1],
];

/** The kind of a seed's run. */
export function profileOf(seed: number, wanted: ProfileName | undefined): Profile {
  const random = new Random(`profile ${seed}`);
  const drawn = drawName(random);
  const name = wanted ?? drawn;
  const one = <T>(values: readonly T[]): T => values[random.below(values.length)] as T;
  const isWild = name === "wild";
  const isSlow = name === "slow";
  const isLarge = name === "large";
  const isQuiet = name === "quiet";
  const isSilent = name === "silences";
  const isBusy = name === "busy";
  const isCold = name === "cold";
  const isEnding = name === "endings";
  const isDeleting = name === "deletions" || isEnding;
  const ttlsOf: Partial<Record<ProfileName, readonly Profile["ttls"][]>> = {
    ...{ slow: slowTtls, wild: wildTtls, brief: briefTtls, silences: silentTtls, busy: busyTtls },
    cold: [[undefined]],
    deletions: [[undefined], [undefined], ...mixedTtls, ...silentTtls, ...briefTtls],
    endings: endingTtls,
  };
  const ttls = one(ttlsOf[name] ?? mixedTtls);
  const isLong = random.chance(0.1) || isBusy || isCold;
  return {
    name,
    clients: isQuiet ? 1 : isCold ? 1 + random.below(3) : 2 + random.below(3),
    actors: random.chance(0.3) && !isQuiet ? 2 : 1,
    acts: name === "hostile" ? 300 : isLarge ? 1_000 : isLong ? 3_000 : isSilent ? 1_000 : 500,
    faultFactor: isQuiet ? 0 : name === "calm" ? 0.1 : 1,
    delayFactor: isQuiet ? 0 : name === "calm" ? 0.02 : isWild ? 5 : 1,
    daysUnderWay: isSilent ? one([0.02, 0.08]) : isSlow ? 0.02 : isDeleting ? one([0, 0.01, 0.05]) : 0,
    mostDaysUnderWay: isEnding ? one([13, 45, 45]) : 13,
    halfAmendments: isEnding ? one([0.05, 0.5]) : 0,
    largestSkew: isQuiet || random.chance(0.25) ? 0 : LARGEST_SKEW,
    // A head takes up to 16 KiB of a row. The space for texts is small, so that small commits are cut.
    maxRowBytes: isLarge || isBusy ? 16 * 1024 + one([200, 500, 2_000]) : 64 * 1024,
    returnsWinner: random.chance(0.5),
    omitsTexts: random.chance(0.5),
    ttls: isQuiet ? one([[undefined], [HOUR], [7 * DAY]]) : ttls,
    limits:
      limitsOf(name, random) ??
      (isQuiet
        ? [one([undefined, 10, 40])]
        : one([
            [undefined],
            [1, 3, 8, 40],
            [1, 3, 8, 40],
            [10, undefined, 150],
            [10, undefined, 150],
            [40, 8],
          ])),
    trimmings: one([["turns"], ["turns", "exact"]]),
    kinds: random.chance(0.33) ? ["u", "u", "o"] : ["u", "u", "o", "t", "s", "c", "k"],
    depth: isCold ? "cold" : name === "deep" ? "deep" : "ordinary",
    largeTexts: isLarge ? 1 : isBusy ? one([0, 0.05]) : 0,
    waits: isBusy
      ? [[1, 30]]
      : isQuiet || isSilent || isDeleting
        ? [[1, 2 * SECOND]]
        : isSlow
          ? slowWaits
          : isCold
            ? coldWaits
            : ordinaryWaits,
    silences: isWild
      ? 0.01
      : isSilent
        ? one([0.15, 0.04, 0.01])
        : isBusy
          ? one([0.001, 0.01])
          : isDeleting
            ? one([0.1, 0.03, 0.01])
            : 0,
    isAimed: isSilent || isDeleting,
    isSweptOften: isSilent || isBusy || isDeleting,
    restarts: isCold ? one([0.3, 0.01]) : isSilent || isDeleting ? 0.02 : 0,
    lateRetries: isBusy ? 0.3 : 0.05,
    deletions: isDeleting ? one([0.2, 0.05, 0.01]) : 0,
    bursts: !isQuiet && random.chance(0.3) ? one([0.02, 0.1, 0.3]) : 0,
    aborts: !isQuiet && random.chance(0.3) ? one([0.02, 0.2]) : 0,
  };
}

function limitsOf(name: ProfileName, random: Random): Profile["limits"] | undefined {
  if (name === "deep") return [100 + random.below(60)];
  // Sometimes a commit trims nearly all messages.
  if (name === "cold") return [...Array(random.pick(60, 150)).fill(random.pick(350, 500)), 60, 200];
  if (name === "busy") return random.pick([1], [3, 8], [8], [undefined, 300], [undefined]);
  return undefined;
}

function drawName(random: Random): ProfileName {
  let left = random.below(weights.reduce((sum, [, weight]) => sum + weight, 0));
  for (const [name, weight] of weights) {
    left -= weight;
    if (left < 0) return name;
  }
  return "steady";
}
