import { expect, test } from "vitest";
import { runMutated } from "../../../conformance-tests/test/fixtures/source-mutants/run-mutated.ts";
import type { MarkSemantics } from "../src/directory/marked-notes.ts";
import { firstProblem } from "./model/worlds.ts";

const WORLDS = Number(process.env.SCROLLBACK_WORLDS ?? 60);
/** Far above the time that a busy machine needs. */
const TIMEOUT_MS = 600_000;

test(
  "no list has a stale, missing, doubled or removed entry, with processes that die at any moment",
  async () => {
    const { seed, problem, counts } = await firstProblem(WORLDS, false);
    expect({ seed, problem }).toEqual({ seed: undefined, problem: undefined });
    // The worlds included the events that they must test.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(WORLDS / 2);
  },
  TIMEOUT_MS,
);

test(
  "no list misses an acknowledged write when processes are suspended for minutes during one",
  async () => {
    const { seed, problem } = await firstProblem(WORLDS, true);
    expect({ seed, problem }).toEqual({ seed: undefined, problem: undefined });
  },
  TIMEOUT_MS,
);

test.each<[string, Partial<MarkSemantics>]>([
  ["marks after the write", { marksFirst: false }],
  ["trusts every entry", { counts: () => true }],
  ["closes the marks of all incarnations at the end of one", { closes: () => true }],
])(
  "a directory that %s is detected",
  async (_name, semantics) => {
    const { problem } = await firstProblem(1_000, false, semantics);
    expect(problem).toBeDefined();
  },
  TIMEOUT_MS,
);

test.each<
  [string, { suspends: boolean; seed?: number; file: string; inside: string; from: string; to: string }]
>([
  [
    "does not announce its leaves",
    {
      suspends: false,
      file: "compact",
      inside: "#announce",
      from: "...added.map(({ id }) => ({ id, compaction }))",
      to: "",
    },
  ],
  [
    "keeps its leaves after it has lost a race",
    {
      suspends: true,
      // The first world that detects it.
      seed: 270,
      file: "compact",
      inside: "rewrite",
      from: "await this.#tree.deleteLeaves(plan.added.map(({ id }) => id));",
      to: "",
    },
  ],
  [
    "forgets the leaves that it replaced",
    {
      suspends: false,
      file: "compact",
      inside: "#replace",
      from: "...replaced.map((id) => ({ id, compaction: compactions })),",
      to: "",
    },
  ],
  [
    "forgets the leaves that others announced",
    {
      suspends: false,
      file: "compact",
      inside: "#replace",
      from: "...stillAnnounced(found.root).filter(({ id }) => !own.has(id)),",
      to: "",
    },
  ],
  [
    "replaces a root that has changed",
    {
      suspends: false,
      file: "compact",
      inside: "#isContinued",
      from: "return text(from) === text(now);",
      to: "return true;",
    },
  ],
  [
    "deletes the leaves of running compactions",
    {
      suspends: false,
      file: "tree",
      inside: "deletable",
      from: "compaction <= compactions",
      to: "true",
    },
  ],
  [
    "brings the expiry of its directory forward",
    { suspends: false, file: "compact", inside: "#commit", from: "...extending, ", to: "" },
  ],
  [
    "writes leaves that live only as long as members of its own process",
    {
      suspends: false,
      file: "compact",
      inside: "#announce",
      from: "announced.expiresAt",
      to: "this.#tree.clock.wall() + 900_000",
    },
  ],
  [
    "follows a note that brought the expiry of the directory forward",
    { suspends: false, file: "note-queue", inside: "#add", from: "...extending, ", to: "" },
  ],
])(
  "a compaction that %s is detected",
  async (_name, { suspends, seed = 1, file, ...change }) => {
    const changes = [{ file: `collections/src/directory/${file}.ts`, ...change }];
    const env = { MUTANT_WORLDS: "1000", MUTANT_SUSPENDS: suspends ? "yes" : "", MUTANT_SEED: String(seed) };
    expect(await runMutated<string>(new URL("model/worker.ts", import.meta.url), changes, env)).toBeDefined();
  },
  TIMEOUT_MS,
);
