/**
 * The simulator does not notice the absence of these rules (unnoticed.ts). They are kept by argument:
 *
 * - a raise is a row of its own: a writer that stops between extending and claiming would land on a key that was
 *   deleted, and bring dropped messages back
 * - only rows that were promised are extended: an extension that reaches freed rows keeps them, and their keys, for
 *   as long as the thread
 * - rows are kept as long as those of before: else rows and roots of an earlier incarnation could outlast those of
 *   the thread, and be taken for its end
 * - a root is kept while the next is inserted: of two writers that begin, one may see the root and one may not:
 *   their roots would have different numbers, and both would win
 * - a row names the token of the row below: expiries alone keep late rows out of the links that are read; the token
 *   holds where the arithmetic is wrong, or a row is planted
 * - a late row without a commit starts over: the next step looks at the time of the attempt again; without this one
 *   what is known would hold a row that may be no part of the thread
 * - a winner that is returned late is not the end: the key after it may have been freed and deleted since, so the
 *   next insert would win on a thread that went on elsewhere
 * - what was read over 5 minutes is not trusted: as above, for rows that a slow read returns
 * - a row that is needed is part of the thread: such a row is its own proof; without it a caller would hear of an
 *   unknown outcome where the log still tells it
 * - freed keys are kept for 48 h: an insert that lands on a freed key is found and blanked, but its text is readable
 *   until then, and stays if the writer dies
 * - heads carry uploads: a commit would forget the uploads of others; their rows would keep texts until the thread is
 *   trimmed past them
 * - blank texts are no messages: a row whose messages were dropped and whose key is still there would be taken for
 *   the highest of a window
 * - texts listed as dead are no messages: as above, until the collection that blanks them
 * - rows listed as dead have no messages: as above, for whole rows
 * - rows that are not linked have no messages: a late row under a freed key names messages that it does not hold
 * - what is known of the oldest messages ends where they were dropped: sequence numbers are given again after a
 *   drop, and the rows known for them are the old ones
 * - a reader does not trust rows that it read 5 minutes ago: a key that was read may have been deleted and taken by
 *   another row since
 * - a reader looks at the clock after it has read: rows may be deleted while a read is under way; what is missing
 *   then must not be called damage
 */
import { type Mutant, off } from "./mutant.ts";

/** Rules whose absence the simulator notices. */
export const mutants: readonly Mutant[] = [
  off(
    "a thread expires 72 h before its rows",
    ["silences", 1],
    ["write", "EXPIRY_MARGIN_MS", "72 * HOUR", "0"],
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
  off(
    "an expiry is promised after the rows are extended",
    ["silences", 2],
    [
      "write",
      "#raise",
      "        keptUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),",
      "        keptUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),\n        promisedUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),",
    ],
  ),
  off(
    "an incarnation is closed before the next begins",
    ["silences", 1],
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
    ["silences", 1],
    ["write", "#begin", "Math.floor(now) * ROWS_PER_MS, highest + 2,", "Math.floor(now) * ROWS_PER_MS,"],
  ),
  off(
    "a new root names all rows of before as dead",
    ["busy", 2],
    ["write", "#begin", "free: highest > 0 ? [[FIRST_ROW, highest + 1]] : [],", "free: [],"],
  ),
  off(
    "a root without commits is built on only while its rows are there",
    ["silences", 1],
    ["write", "#begin", "open.n === 0 && now < never(open.promisedUntil) - SOLID_MARGIN_MS", "open.n === 0"],
  ),
  off(
    "log time never goes back",
    ["silences", 1],
    ["write", "#plan", "const at = Math.max(now, base.at);", "const at = now;"],
  ),
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
  off(
    "a commit that takes 5 minutes starts over",
    ["silences", 2],
    [
      "write",
      "#startOverUnlessRecent",
      "if (!isRecent(this.#clock, since)) throw new StartOver();",
      "if (!since) throw new StartOver();",
    ],
  ),
  off(
    "a late insert is checked",
    ["silences", 1],
    [
      "write",
      "#insertCommit",
      "if (!isRecent(this.#clock, sent)) return await this.#confirm(head, own);",
      "",
    ],
  ),
  off(
    "a late fragment is blanked",
    ["large", 3],
    ["write", "#insertPlain", "if (texts.length > 0) {", "if (texts.length < 0) {"],
  ),
  off(
    "a row proves its chain only while the rows below are kept",
    ["silences", 2],
    ["write", "#confirm", "this.#clock.wall() < never(end.promisedUntil) - SOLID_MARGIN_MS", "end.n > 0"],
  ),
  off(
    "a late row that is not part of the thread is blanked",
    ["silences", 1],
    ["write", "#confirm", "await this.#blankRow(number);", ""],
  ),
  off("own attempts are remembered", ["busy", 1], ["write", "#insertCommit", "attempts.push(own);", ""]),
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
  off(
    "a late drop of all blanks",
    ["silences", 4],
    ["write", "#confirm", 'if (this.#request.drop === "all" && end) await this.#amend(blankDead(end));', ""],
  ),
  off("a drop of all ends uploads", ["large", 1], ["plan", "uploadsAfter", 'request.drop === "all" || ', ""]),
  off(
    "old uploads end",
    ["large", 1],
    ["plan", "uploadsAfter", "|| n <= base.n + 1 - REMEMBERED_OPERATIONS", ""],
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
  off(
    "what is known of the newest messages ends where they were dropped",
    ["deep", 1],
    ["chain", "append", "this.top = cutRuns(this.top, head.bounds[0], head.start);", ""],
  ),
  off(
    "a reader begins again where a text is missing",
    ["steady", 9],
    ["read", "readThread", "if (view && (read.isWhole || isSame))", "if (view)"],
  ),
  off(
    "a page hint ends with a drop",
    ["deep", 1],
    ["read", "#startOf", "(end.cut ?? 0) <= hint.seen &&", ""],
  ),
];
