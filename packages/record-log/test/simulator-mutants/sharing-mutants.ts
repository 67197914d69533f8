import { type Mutant, off } from "./mutant.ts";

/** Rules about commits that share a row. */
export const sharingMutants: readonly Mutant[] = [
  off(
    "every operation of a row is remembered",
    ["steady", 26],
    ["chain/chain", "commitIn", "if (!earlier) return undefined;", "return undefined;"],
  ),
  off(
    "a row counts all its commits",
    ["steady", 37],
    ["write/plan", "planRow", "const n = base.n + (request.commits?.length ?? 1);", "const n = base.n + 1;"],
  ),
  off(
    "the commits of a row are trimmed one after the other",
    ["steady", 26],
    ["write/plan", "planBounds", "...rest] = commits ?? [];", "...rest] = [];"],
  ),
  off(
    "each commit of a row remembers its attempt",
    ["busy", 15],
    ["write/write", "#remember", "attempts.push({ number, token, incarnation, ...own, isLate: false });", ""],
  ),
  off(
    "each commit of a row has its own revision",
    ["steady", 37],
    ["write/group", "outcomeOfEarlier", " - back)", ")"],
  ),
  off(
    "each attempt of a row has its own count",
    ["busy", 4],
    ["write/write", "#remember", "n: n - this.#earlier.length + index", "n"],
  ),
  off(
    "a commit with an expected revision shares no row",
    ["steady", 37],
    ["write/group", "canShare", "request.expectedRevision === undefined &&", ""],
  ),
  off(
    "a commit that was sent shares no row",
    ["busy", 4],
    ["write/group", "canShare", "operation.attempts.length === 0 &&", ""],
    ["write/write", "#checkTogether", "if (!isTogether) throw new NotTogether();", ""],
  ),
  off(
    "a commit that another row may have made shares no row",
    ["steady", 8],
    [
      "write/write",
      "#checkTogether",
      "if (remembered.some((link) => ids.some((id) => commitIn(link, id)))) throw new NotTogether();",
      "",
    ],
  ),
  off(
    "a row is made without the commits whose callers have aborted",
    ["steady", 26],
    [
      "write/write",
      "#insertCommit",
      "if (commits.some((commit) => commit.signal?.aborted)) throw new NotTogether();",
      "",
    ],
  ),
  off(
    "a commit that drops messages shares no row",
    ["steady", 26],
    ["write/group", "canShare", "request.drop === 0 &&", ""],
  ),
  off(
    "a commit that sets metadata shares no row",
    ["steady", 37],
    ["write/group", "canShare", "request.metadata === undefined &&", ""],
  ),
  off(
    "the commits of a row have the same expiry",
    ["steady", 37],
    ["write/group", "takeNext", " || write.request.ttlMs !== first.request.ttlMs", ""],
  ),
  off(
    "the commits of a row fit one row",
    ["busy", 15],
    ["write/group", "takeNext", " || bytes > limits.maxRowBytes", ""],
  ),
  off("commits share no row while an upload is open", "its scene", [
    "write/write",
    "#attempt",
    "if (this.#earlier.length > 0 && (base.uploads ?? NONE).length > 0) throw new NotTogether();",
    "",
  ]),
  off(
    "a row that passes a multiple of 32 collects",
    ["steady", 37],
    [
      "write/collect",
      "isCollectionDue",
      "Math.floor(after / COLLECT_EVERY) > Math.floor(before / COLLECT_EVERY)",
      "after % COLLECT_EVERY === 0 && after > before",
    ],
  ),
];
