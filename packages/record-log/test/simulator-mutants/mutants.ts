import { type Mutant, off } from "./mutant.ts";

/** Rules whose absence random runs detect. */
export const mutants: readonly Mutant[] = [
  off(
    "a thread expires 72 h before its rows",
    ["silences", 1],
    ["rows/expiry", "EXPIRY_MARGIN_MS", "72 * HOUR", "0"],
  ),
  off(
    "a raise extends the rows",
    ["slow", 2],
    [
      "write/write",
      "#raise",
      "{ from, to: nextNumber(raised), extend: { to: nullable(until), atLeast: never(base.promisedUntil) } },",
      "",
    ],
  ),
  off(
    "a raise extends the root",
    ["slow", 5],
    ["write/write", "#raise", "to: nullable(until + ROOT_EXPIRY_MS),", "to: 0,"],
  ),
  off(
    "an expiry is promised after the rows are extended",
    ["silences", 5],
    [
      "write/write",
      "#raise",
      "        keptUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),",
      "        keptUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),\n        promisedUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),",
    ],
  ),
  off(
    "an incarnation is closed before the next begins",
    ["silences", 3],
    [
      "write/write",
      "#begin",
      "await this.#insertPlain(chain, repeatHead(open, newToken(), { at, closed: 1 }), []);",
      "",
    ],
  ),
  off(
    "writers compete for a root's number",
    ["wild", 7],
    [
      "write/write",
      "#begin",
      "number: root ? root.head.number + 1 : 1,",
      "number: 1 + (Math.floor(now) % 1_000_000),",
    ],
    [
      "write/write",
      "#begin",
      "root: root ? root.head.number + 1 : 1,",
      "root: 1 + (Math.floor(now) % 1_000_000),",
    ],
  ),
  off(
    "a first row is above all rows",
    ["silences", 1],
    [
      "write/write",
      "#begin",
      "Math.floor(now) * ROWS_PER_MS, highest + 2,",
      "Math.floor(now) * ROWS_PER_MS,",
    ],
  ),
  off(
    "a new root names all rows of before as dead",
    ["busy", 2],
    ["write/write", "#begin", "free: highest > 0 ? [[FIRST_ROW, highest + 1]] : [],", "free: [],"],
  ),
  off(
    "a root without commits is built on only while its rows are there",
    ["silences", 3],
    [
      "write/write",
      "#begin",
      "open.n === 0 && now < never(open.promisedUntil) - SOLID_MARGIN_MS",
      "open.n === 0",
    ],
  ),
  off(
    "log time never goes back",
    ["silences", 3],
    ["write/write", "#plan", "const at = Math.max(now, base.at);", "const at = now;"],
  ),
  off(
    "what is known is trusted for 5 minutes",
    ["slow", 4],
    [
      "write/write",
      "commit",
      "known !== undefined && isRecent(this.#clock, known.learned) && isAlive",
      "known !== undefined && isAlive",
    ],
  ),
  off(
    "a commit that takes 5 minutes starts over",
    ["silences", 15],
    [
      "write/write",
      "#startOverUnlessRecent",
      "if (!isRecent(this.#clock, since)) throw new StartOver();",
      "if (!since) throw new StartOver();",
    ],
    ["write/write", "#insertCommit", "if (!areClose(sent, this.#began)) throw new StartOver();", ""],
  ),
  off(
    "a late insert is checked",
    ["silences", 1],
    [
      "write/write",
      "#insertCommit",
      "if (!isRecent(this.#clock, sent)) return await this.#confirm(head, own);",
      "",
    ],
  ),
  off(
    "a late fragment is blanked",
    ["large", 9],
    ["write/write", "#insertPlain", "if (texts.length > 0) {", "if (texts.length < 0) {"],
  ),
  off(
    "a row proves its chain only while the rows below are kept",
    ["silences", 2],
    [
      "write/write",
      "#confirm",
      "this.#clock.wall() < never(end.promisedUntil) - SOLID_MARGIN_MS",
      "end.n > 0",
    ],
  ),
  off(
    "a late row that is not part of the thread is blanked",
    ["silences", 2],
    ["write/write", "#confirm", "await this.#blankRow(number);", ""],
  ),
  off(
    "own attempts are remembered",
    ["busy", 5],
    ["write/write", "#remember", "this.#operation.attempts.push(own);", ""],
  ),
  off(
    "64 operations are remembered",
    ["wild", 4],
    ["chain/chain", "remembered", "n - REMEMBERED_OPERATIONS", "n - 32"],
  ),
  off(
    "keys of remembered commits are not freed",
    ["calm", 4],
    ["write/collect", "planCollection", "const due = rangesBelow(dead, oldest);", "const due = dead;"],
  ),
  off(
    "dead rows are collected",
    ["calm", 1],
    ["write/write", "#plan", "return this.#planAndCollect(chain, base, options);", "void dead;"],
  ),
  off(
    "what is dead is listed until it is blank",
    ["steady", 10],
    [
      "write/write",
      "#planAndCollect",
      "await this.#amend(amendments);",
      "void this.#amend(amendments).catch(() => undefined);",
    ],
  ),
  off(
    "a drop of all blanks before it returns",
    ["steady", 1],
    ["write/write", "#insertCommit", 'if (drop === "all") await this.#amend(blankDead(head));', ""],
  ),
  off(
    "a repeated drop of all blanks",
    ["steady", 6],
    ["write/write", "#findRecordedOutcome", 'if (drop === "all") await this.#amend(blankDead(after));', ""],
  ),
  off(
    "an id that this call has sent is looked up",
    ["wild", 1],
    ["write/write", "#attempt", " || this.#operation.attempts.length > 0", ""],
  ),
  off(
    "a late drop of all blanks",
    ["wild", 1],
    [
      "write/write",
      "#confirm",
      'if (this.#request.drop === "all" && end) await this.#amend(blankDead(end));',
      "",
    ],
  ),
  off(
    "a drop of all ends uploads",
    ["large", 6],
    ["write/plan", "uploadsAfter", 'request.drop === "all" || ', ""],
  ),
  off(
    "old uploads end",
    ["large", 1],
    ["write/plan", "uploadsAfter", "|| n <= base.n + 1 - REMEMBERED_OPERATIONS", ""],
  ),
  off(
    "rows of uploads are not dead",
    ["large", 4],
    ["write/plan", "planRow", "uploads.open.flatMap(([, , rows]) => rows);", "[] as RowRange[];"],
  ),
  off(
    "rows of the pinned message and the metadata are not dead",
    ["calm", 1],
    ["write/plan", "planRow", "spots.map(([row]) => rowAlone(row)),", "[],"],
  ),
  off(
    "what is known of the newest messages ends where they were dropped",
    ["deep", 1],
    ["chain/chain", "append", "this.top = cutRuns(this.top, head.bounds[0], head.start);", ""],
  ),
  off(
    "a reader begins again where a text is missing",
    ["steady", 15],
    ["chain/read", "readThread", "if (view && read.isWhole)", "if (view)"],
  ),
  off(
    "a commit is not sent after its caller has aborted",
    ["steady", 1],
    ["write/write", "#insertCommit", "throwIfAborted(signal);", ""],
  ),
  off(
    "an outcome that the caller did not wait for counts as unknown",
    ["busy", 3],
    ["record-log-driver", "#inTurn", " && !signal?.aborted;", ";"],
  ),
  off(
    "a page hint ends with a drop",
    ["deep", 1],
    ["chain/read", "#startOf", "(end.cut ?? 0) <= hint.seen &&", ""],
  ),
];
