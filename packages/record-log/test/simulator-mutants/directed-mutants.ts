import { type Mutant, off } from "./mutant.ts";

/**
 * Rules whose absence only a scripted run detects: it needs several rare events together, which random runs hardly ever combine.
 */
export const directedMutants: readonly Mutant[] = [
  off(
    "a raise is a row of its own",
    "its scene",
    [
      "write/write",
      "#raise",
      "repeatHead(base, newToken(), {",
      "((_base, _token, { keptUntil }) => ({ ...base, keptUntil }))(base, newToken(), {",
    ],
    ["write/write", "#raise", "await this.#insertPlain(chain, raised, []);", ""],
  ),
  off("only rows that were promised are extended", "its scene", [
    "write/write",
    "#raise",
    "atLeast: never(base.promisedUntil) } },",
    "atLeast: 0 } },",
  ]),
  off("rows are kept as long as those of before", "its scene", [
    "write/write",
    "#begin",
    "this.#wantedUntil(open ? never(open.keptUntil) : 0, at)",
    "this.#wantedUntil(0, at)",
  ]),
  off("a root is kept while the next is inserted", "its scene", [
    "write/write",
    "#begin",
    "if (root) await this.#keepRoot(root.head, root.expiresAt, now);",
    "",
  ]),
  off("a root is kept until the next one has arrived", "its scene", [
    "write/write",
    "#keepRoot",
    "outlivesLateRoots(expiresAt, now)",
    "expiresAt === undefined || now <= expiresAt - SOLID_MARGIN_MS",
  ]),
  off("a root is kept until a deletion and the next root have arrived", "its scene", [
    "rows/expiry",
    "DELETED_MS",
    "RELEASED_MS + ROOT_EXPIRY_MS",
    "ROOT_LATE_MS + 2 * DAY",
  ]),
  off("a row names the token of the row below", "its scene", [
    "chain/learn",
    "isLinked",
    "head.predecessor === below.token",
    "head.token !== below.token",
  ]),
  off("a late row without a commit starts over", "its scene", [
    "write/write",
    "#insertPlain",
    "        this.#upload = undefined;\n      }\n      throw new StartOver();",
    "        this.#upload = undefined;\n      }",
  ]),
  off("a winner that is returned late is not the end", "its scene", [
    "write/write",
    "#lose",
    "isRecent(this.#clock, sent) && ",
    "",
  ]),
  off("a closing row that came late proves nothing", "its scene", [
    "write/write",
    "#wasMade",
    "!next?.closed || next.at < never(next.promisedUntil) - SOLID_MARGIN_MS",
    "true",
  ]),
  off("what was read over 5 minutes is not trusted", "its scene", [
    "write/write",
    "#attempt",
    "if (!this.#isCached && !isRecent(this.#clock, chain.learned)) throw new StartOver();",
    "",
  ]),
  off("a row that is needed is part of the thread", "its scene", [
    "write/write",
    "#isMade",
    "if (current.closed || !(await isNeeded(this.#log, this.#stream, chain, number))) return undefined;",
    "return undefined;",
  ]),
  off("freed keys are kept for 48 h", "its scene", ["rows/expiry", "FREED_MS", "48 * HOUR", "0"]),
  off("rows are found without texts only if none was dropped", "its scene", [
    "chain/locate",
    "readUp",
    "const isUncut = (end.cut ?? 0) <= from;",
    "const isUncut = true;",
  ]),
  off("blank texts are no messages", "its scene", [
    "chain/locate",
    "endOfLive",
    '(texts[index] ?? "") === "" || ',
    "",
  ]),
  off("texts listed as dead are no messages", "its scene", [
    "chain/locate",
    "endOfLive",
    " || listed.some(([, from, to]) => from <= index && index < to)",
    "",
  ]),
  off("rows listed as dead have no messages", "its scene", [
    "chain/locate",
    "highestLive",
    " || isInRanges(end.free ?? [], row.number)",
    "",
  ]),
  off("rows that are not linked have no messages", "its scene", [
    "chain/locate",
    "highestLive",
    "if (isLinked) return",
    "if (isLinked || link) return",
  ]),
  off("what is known of the oldest messages ends where they were dropped", "its scene", [
    "chain/chain",
    "append",
    "this.bottom = cutRuns(this.bottom, head.bounds[0], head.start);",
    "",
  ]),
  off("heads carry uploads", "its scene", [
    "write/plan",
    "planRow",
    "uploads: uploads.open,",
    "uploads: undefined,",
  ]),
];
