import type { ProfileName } from "../../src/simulator/index.ts";
import type { SourceChange } from "./mutate.ts";

/** A rule of the record log, switched off. */
export interface Mutant {
  readonly rule: string;
  readonly changes: readonly SourceChange[];
  readonly profile: ProfileName;
  /** A run of the profile that notices it. Absent: the simulator does not notice it. */
  readonly seed: number | undefined;
}

type Change = readonly [file: string, inside: string, from: string, to: string];

function off(
  rule: string,
  where: ProfileName | readonly [ProfileName, seed: number],
  ...changes: readonly Change[]
): Mutant {
  const [profile, seed] = typeof where === "string" ? [where, undefined] : where;
  return {
    rule,
    profile,
    seed,
    changes: changes.map(([file, inside, from, to]) => ({ file: `${file}.ts`, inside, from, to })),
  };
}

export const mutants: readonly Mutant[] = [
  off("a thread expires 72 h before its rows", "slow", ["write", "EXPIRY_MARGIN_MS", "72 * HOUR", "0"]),
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
  off(
    "a raise extends the rows",
    ["slow", 1],
    [
      "write",
      "#raise",
      "{ from, to: nextNumber(raised), extend: { to: nullable(until), atLeast: never(base.promisedUntil) } },",
      "",
    ],
  ),
  off(
    "a raise extends the root",
    ["slow", 2],
    ["write", "#raise", "to: nullable(until + ROOT_LIFE_MS), atLeast: 0", "to: 0, atLeast: 0"],
  ),
  off("an expiry is promised after the rows are extended", "slow", [
    "write",
    "#raise",
    "        keptUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),",
    "        keptUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),\n        promisedUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),",
  ]),
  off("only rows that were promised are extended", "slow", [
    "write",
    "#raise",
    "atLeast: never(base.promisedUntil)",
    "atLeast: 0",
  ]),
  off(
    "an incarnation is closed before the next begins",
    ["wild", 7],
    [
      "write",
      "#begin",
      "await this.#insertPlain(chain, repeatHead(open, newToken(), { closed: 1 }), []);",
      "",
    ],
  ),
  off(
    "writers compete for a root's number",
    ["wild", 4],
    [
      "write",
      "#begin",
      "number: root ? root.head.number + 1 : 1,",
      "number: 1 + (Math.floor(now) % 1_000_000),",
    ],
    ["write", "#begin", "root: root ? root.head.number + 1 : 1,", "root: 1 + (Math.floor(now) % 1_000_000),"],
  ),
  off(
    "a first row is above all rows",
    ["wild", 13],
    ["write", "#begin", "Math.floor(now) * ROWS_PER_MS, highest + 2,", "Math.floor(now) * ROWS_PER_MS,"],
  ),
  off("a new root names all rows of before as dead", "brief", [
    "write",
    "#begin",
    "free: highest > 0 ? [[FIRST_ROW, highest + 1]] : [],",
    "free: [],",
  ]),
  off("rows are kept as long as those of before", "slow", [
    "write",
    "#begin",
    "this.#wantedUntil(open ? never(open.keptUntil) : 0, at)",
    "this.#wantedUntil(0, at)",
  ]),
  off("a root without commits is built on only while its rows are there", "slow", [
    "write",
    "#begin",
    "open.n === 0 && now < never(open.promisedUntil) - SOLID_MARGIN_MS",
    "open.n === 0",
  ]),
  off("a root is kept while the next is inserted", "slow", [
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
  off("log time never goes back", "wild", [
    "write",
    "#plan",
    "const at = Math.max(now, base.at);",
    "const at = now;",
  ]),
  off(
    "what is known is trusted for 5 minutes",
    ["slow", 4],
    [
      "write",
      "commit",
      "known !== undefined && isRecent(this.#clock, known.learned) && isAlive",
      "known !== undefined && isAlive",
    ],
  ),
  off("a commit that takes 5 minutes starts over", "wild", [
    "write",
    "#startOverUnlessRecent",
    "if (!isRecent(this.#clock, since)) throw new StartOver();",
    "if (!since) throw new StartOver();",
  ]),
  off("a late insert is checked", "slow", [
    "write",
    "#insertCommit",
    "if (!isRecent(this.#clock, sent)) return await this.#confirm(head, own);",
    "",
  ]),
  off("a late row without a commit starts over", "slow", [
    "write",
    "#insertPlain",
    "if (!isRecent(this.#clock, sent)) {",
    "if (!sent) {",
  ]),
  off("a late fragment is blanked", "large", [
    "write",
    "#insertPlain",
    "if (texts.length > 0) {",
    "if (texts.length < 0) {",
  ]),
  off("a row proves its chain only while the rows below are kept", "slow", [
    "write",
    "#confirm",
    "this.#clock.wall() < never(end.promisedUntil) - SOLID_MARGIN_MS",
    "end.n > 0",
  ]),
  off("a late row that is not part of the thread is blanked", "slow", [
    "write",
    "#confirm",
    "await this.#blankRow(number);",
    "",
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
  off("own attempts are remembered", "wild", ["write", "#insertCommit", "attempts.push(own);", ""]),
  off("a row that is needed is part of the thread", "slow", [
    "write",
    "#isMade",
    "if (!(await isNeeded(this.#log, this.#stream, chain, number))) return undefined;",
    "return undefined;",
  ]),
  off(
    "64 operations are remembered",
    ["wild", 1],
    ["chain", "remembered", "n - REMEMBERED_OPERATIONS", "n - 32"],
  ),
  off(
    "keys of remembered commits are not freed",
    ["calm", 4],
    ["collect", "planCollection", "const due = rangesBelow(dead, oldest);", "const due = dead;"],
  ),
  off("freed keys are kept for 48 h", "wild", ["write", "FREED_MS", "48 * HOUR", "0"]),
  off(
    "dead rows are collected",
    ["calm", 1],
    ["write", "#plan", "if (!isDue) return first;", "if (first) return first;"],
  ),
  off(
    "what is dead is listed until it is blank",
    ["steady", 8],
    [
      "write",
      "#plan",
      "await this.#amend(amendments);",
      "void this.#amend(amendments).catch(() => undefined);",
    ],
  ),
  off(
    "a drop of all blanks before it returns",
    ["steady", 1],
    ["write", "#insertCommit", 'if (drop === "all") await this.#amend(blankDead(head));', ""],
  ),
  off(
    "a repeated drop of all blanks",
    ["steady", 3],
    ["write", "#findRecordedOutcome", 'if (drop === "all") await this.#amend(blankDead(current));', ""],
  ),
  off("a late drop of all blanks", "slow", [
    "write",
    "#confirm",
    'if (this.#request.drop === "all" && end) await this.#amend(blankDead(end));',
    "",
  ]),
  off("a drop of all ends uploads", ["large", 1], ["plan", "uploadsAfter", 'request.drop === "all" || ', ""]),
  off("old uploads end", "large", ["plan", "uploadsAfter", "|| n <= base.n + 1 - REMEMBERED_OPERATIONS", ""]),
  off(
    "heads carry uploads",
    ["large", 9],
    ["plan", "planRow", "uploads: uploads.open,", "uploads: undefined,"],
  ),
  off(
    "rows of uploads are not dead",
    ["large", 3],
    ["plan", "planRow", "...uploads.open.flatMap(([, , rows]) => rows),", ""],
  ),
  off(
    "rows of the pinned message and the metadata are not dead",
    ["calm", 1],
    ["plan", "planRow", "spots.map(([row]) => rowAlone(row)),", "[],"],
  ),
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
  off(
    "what is known of the newest messages ends where they were dropped",
    ["deep", 1],
    ["chain", "append", "this.top = cutRuns(this.top, head.bounds[0], head.start);", ""],
  ),
  off("what is known of the oldest messages ends where they were dropped", "deep", [
    "chain",
    "append",
    "this.bottom = cutRuns(this.bottom, head.bounds[0], head.start);",
    "",
  ]),
  off(
    "a reader begins again where a text is missing",
    ["steady", 9],
    ["read", "readThread", "if (view && (read.isWhole || isSame))", "if (view)"],
  ),
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
  off(
    "a page hint ends with a drop",
    ["deep", 1],
    ["read", "#startOf", "(end.cut ?? 0) <= hint.seen &&", ""],
  ),
];
