import { type Mutant, off } from "./mutant.ts";

/** Rules whose absence the simulator does not notice: mutants.ts says why each is kept. */
export const unnoticed: readonly Mutant[] = [
  off(
    "a raise is a row of its own",
    "slow",
    [
      "write",
      "#raise",
      "repeatHead(base, newToken(), {",
      "((_base, _token, { keptUntil }) => ({ ...base, keptUntil }))(base, newToken(), {",
    ],
    ["write", "#raise", "await this.#insertPlain(chain, raised, []);", ""],
  ),
  off("only rows that were promised are extended", "slow", [
    "write",
    "#raise",
    "atLeast: never(base.promisedUntil)",
    "atLeast: 0",
  ]),
  off("rows are kept as long as those of before", "slow", [
    "write",
    "#begin",
    "this.#wantedUntil(open ? never(open.keptUntil) : 0, at)",
    "this.#wantedUntil(0, at)",
  ]),
  off("a root is kept while the next is inserted", "silences", [
    "write",
    "#begin",
    "if (root) await this.#keepRoot(root.head, root.expiresAt, now);",
    "",
  ]),
  off("a row names the token of the row below", "wild", [
    "chain",
    "isLinked",
    "head.predecessor === below.token",
    "head.token !== below.token",
  ]),
  off("a late row without a commit starts over", "slow", [
    "write",
    "#insertPlain",
    "if (!isRecent(this.#clock, sent)) {",
    "if (!sent) {",
  ]),
  off("a winner that is returned late is not the end", "wild", [
    "write",
    "#lose",
    "isRecent(this.#clock, sent) && ",
    "",
  ]),
  off("what was read over 5 minutes is not trusted", "wild", [
    "write",
    "#attempt",
    "if (!this.#isCached && !isRecent(this.#clock, chain.learned)) throw new StartOver();",
    "",
  ]),
  off("a row that is needed is part of the thread", "slow", [
    "write",
    "#isMade",
    "if (!(await isNeeded(this.#log, this.#stream, chain, number))) return undefined;",
    "return undefined;",
  ]),
  off("freed keys are kept for 48 h", "wild", ["write", "FREED_MS", "48 * HOUR", "0"]),
  off("blank texts are no messages", "deep", ["locate", "endOfLive", '(texts[index] ?? "") === "" || ', ""]),
  off("texts listed as dead are no messages", "deep", [
    "locate",
    "endOfLive",
    " || listed.some(([, from, to]) => from <= index && index < to)",
    "",
  ]),
  off("rows listed as dead have no messages", "deep", [
    "locate",
    "highestLive",
    " || isInRanges(end.free ?? [], row.number)",
    "",
  ]),
  off("rows that are not linked have no messages", "deep", [
    "locate",
    "highestLive",
    "if (isLinked) return",
    "if (isLinked || link) return",
  ]),
  off("what is known of the oldest messages ends where they were dropped", "deep", [
    "chain",
    "append",
    "this.bottom = cutRuns(this.bottom, head.bounds[0], head.start);",
    "",
  ]),
  off("a reader does not trust rows that it read 5 minutes ago", "slow", [
    "read",
    "readThread",
    "if (!isRecent(clock, began)) {",
    "if (!began) {",
  ]),
  off("a reader looks at the clock after it has read", "slow", [
    "read",
    "readThread",
    "    // Rows may have been deleted meanwhile, because the thread has expired.\n    if (!isAlive(end, clock.wall())) return { view: NOTHING, page: undefined };\n",
    "",
  ]),
  off("heads carry uploads", "large", ["plan", "planRow", "uploads: uploads.open,", "uploads: undefined,"]),
];
