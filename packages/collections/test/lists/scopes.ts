import type { Call } from "./call.ts";
import type { Faults, Scope } from "./explore.ts";

const id = "x";
/** Calls by a letter. */
const calls: Readonly<Record<string, Call>> = {
  C: { kind: "create", id },
  U: { kind: "change", id, edit: {} },
  S: { kind: "change", id, edit: { movesUp: true }, isSoon: true },
  B: { kind: "change", id, edit: { isRunning: true } },
  A: { kind: "change", id, edit: { lists: ["archived"] } },
  L: { kind: "change", id, edit: { lists: ["open", "label"] } },
  O: { kind: "change", id, edit: { lists: ["open"] } },
  D: { kind: "remove", id },
  X: { kind: "removeAll" },
  G: { kind: "read", id },
  P: { kind: "page", list: "open", direction: "down" },
};

const callsOf = (text: string) => [...text].map((letter) => calls[letter] as Call);

export type ScopeArguments = readonly [text: string, before?: string, faults?: Faults];

/** A thread with an entry in a further list expires long before its entries. */
const expiredAndCrash: ScopeArguments = ["P|D", "CL", { days: 1, crashes: 1, ttlMs: 36 * 3_600_000 }];

/** The scope of calls of processes such as `"CU|DP"`. */
export function scopeOf(text: string, before = "", faults: Faults = {}): Scope {
  const words = Object.entries(faults).map(([kind, count]) => `${count} ${kind}`);
  const name = [text, ...(before ? [`after ${before}`] : []), ...words].join(", ");
  return { name, before: callsOf(before), processes: text.split("|").map(callsOf), ...faults };
}

/** Explored in seconds. */
export const smallScopes: readonly Scope[] = [
  ...["CU|DP", "CD|CP"].map((text) => scopeOf(text)),
  ...["AO|PP", "XC|UP", "BS|DP", "A|SP"].map((text) => scopeOf(text, "C")),
  ...["C|P", "C|C"].map((text) => scopeOf(text, "", { crashes: 1 })),
  ...["A|P", "D|U", "D|C"].map((text) => scopeOf(text, "C", { crashes: 1 })),
  ...["C|D", "C|C"].map((text) => scopeOf(text, "", { losses: 1 })),
  ...["A|P", "D|C"].map((text) => scopeOf(text, "C", { losses: 1 })),
  scopeOf(...expiredAndCrash),
];

/** All pairs of processes, each with calls of one text of `programs`. */
function pairsOf(programs: readonly string[]): string[] {
  return programs.flatMap((one, at) => programs.slice(at).map((other) => `${one}|${other}`));
}

/** All texts of two letters. */
function twoOf(letters: string): string[] {
  return [...letters].flatMap((one) => [...letters].map((other) => one + other));
}

/** Explored in minutes. */
export const largeScopes: readonly Scope[] = [
  ...pairsOf(twoOf("CDP")).map((text) => scopeOf(text)),
  ...pairsOf(twoOf("UDC")).map((text) => scopeOf(text, "C")),
  ...pairsOf(["A", "AO", "AD", "U", "S", "D", "DC", "G", "P", "X"]).map((text) => scopeOf(text, "C")),
  ...pairsOf(["C", "D", "CD", "CU", "P", "X"]).flatMap((text) => [
    scopeOf(text, "", { crashes: 1 }),
    scopeOf(text, "", { losses: 1 }),
    scopeOf(text, "", { days: 1 }),
  ]),
  ...pairsOf(["A", "D", "DC", "U", "G", "P", "X"]).flatMap((text) => [
    scopeOf(text, "C", { crashes: 1 }),
    scopeOf(text, "C", { losses: 1 }),
    scopeOf(text, "C", { days: 1 }),
    scopeOf(text, "C", { days: 1, ttlMs: 3_600_000 }),
  ]),
  ...["D", "D|D"].map((text) => scopeOf(text, "CL", { damaged: 1, crashes: 1 })),
  ...["", "C"].map((before) => scopeOf("C|D", before, { damages: 1, days: 1 })),
];
