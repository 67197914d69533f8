import { type Mutant, off } from "./mutant.ts";

/** Rules about the deletion of threads. */
export const deletionMutants: readonly Mutant[] = [
  off("a row is no end if the row below was freed", "its scene", [
    "chain/chain",
    "isProvenBy",
    "? keepsPromise(below, head) : undefined",
    "? true : undefined",
  ]),
  off("a row is no end if its root was freed", "its scene", [
    "chain/chain",
    "isEnd",
    " || !keepsPromise(root, head)",
    "",
  ]),
  off("an end has its root, or the row below", "its scene", [
    "chain/chain",
    "isEnd",
    "if (root?.number !== head.root ||",
    "if (root?.number !== head.root) return true;\n  if (",
  ]),
  off("an end that is known is no end once it is freed", "its scene", [
    "chain/learn",
    "catchUp",
    "if (!newest || !isProvenBy(newest, rows[1])) return false;",
    "",
  ]),
  off("nothing is built on a freed root", "its scene", [
    "write/write",
    "openRootOf",
    "keepsPromise({ ...root.head, expiresAt: root.expiresAt }, root.head) ? root.head : undefined",
    "root.head",
  ]),
  off("nothing is built on a root that has rows, of which none is an end", "its scene", [
    "write/write",
    "openRootOf",
    "!root || highest >= (root.head.base ?? 0)",
    "!root",
  ]),
  off(
    "a deletion closes the thread",
    ["deletions", 1],
    [
      "write/delete-thread",
      "deleteThread",
      "const closing = closingOn(newest, began.wall);",
      "const closing = undefined;",
    ],
  ),
  off(
    "a deletion closes a root that is open",
    ["deletions", 54],
    [
      "write/delete-thread",
      "readNewest",
      "root && (highest?.number ?? 0) < base ? root : highest",
      "highest",
    ],
  ),
  off(
    "a deletion that comes again is known",
    ["deletions", 3],
    ["write/delete-thread", "deleteThread", "if (made) {", "if (made && false) {"],
  ),
  off(
    "a deletion compares the revision",
    ["deletions", 1],
    [
      "write/delete-thread",
      "deleteThread",
      "if (expectedRevision !== undefined && expectedRevision !== revision)",
      "if (false)",
    ],
  ),
  off("a deletion blanks", ["deletions", 1], ["write/delete-thread", "release", 'blank: "all", ', ""]),
  off(
    "a deletion frees the roots",
    ["deletions", 1],
    ["write/delete-thread", "release", "if (isRootKept && last.root > 0)", "if (false)"],
  ),
  off("a closing row is released after all others", { scope: "a torn deletion, and the rows expire" }, [
    "write/delete-thread",
    "release",
    "last.closed ? last.number : last.number + 1",
    "last.number + 1",
  ]),
  off(
    "rows of a deleted thread expire before what is promised for one that exists",
    { scope: "a raise under way while the thread is deleted, and the rows expire" },
    ["rows/expiry", "RELEASED_MS", "EXPIRY_MARGIN_MS - SOLID_MARGIN_MS", "6 * DAY"],
  ),
  off("a raise extends no root that was freed", { scope: "a raise beside a deletion, and the rows expire" }, [
    "write/write",
    "#raise",
    "atLeast: never(base.promisedUntil) + ROOT_EXPIRY_MS",
    "atLeast: 0",
  ]),
  off("roots that go soon are left alone", "its scene", [
    "write/delete-thread",
    "release",
    "outlivesLateRoots(newestRoot.expiresAt, now)",
    "true",
  ]),
  off("a closing row that was late ends nothing", "its scene", [
    "write/delete-thread",
    "deleteThread",
    "if (taken !== true || !isRecent(clock, began)) throw new StartOver();",
    "if (taken !== true) throw new StartOver();",
  ]),
  off("a deletion that was made before the clock jumped is not made again", "its scene", [
    "write/delete-thread",
    "findMade",
    "if (isRecent(clock, closing.sent)) return closing;",
    "if (isRecent(clock, closing.sent)) return closing;\n    continue;",
  ]),
  off(
    "an attempt counts in an incarnation that has ended",
    ["deletions", 7],
    [
      "write/write",
      "#wasMade",
      "const rows = await this.#log.read(this.#stream, number + 2, 1, true);",
      "const rows = [];",
    ],
  ),
  off(
    "a deleted thread needs no row",
    ["deletions", 29],
    ["write/write", "#isMade", "if (current.closed || !(await", "if (!(await"],
  ),
  off(
    "what a late insert was part of counts once it has ended",
    ["deletions", 17],
    ["write/write", "#confirm", "hasEnded && (await this.#wasMade(chain, attempt)) !== undefined", "false"],
  ),
  off(
    "a deletion is not sent after its caller has aborted",
    ["deletions", 45],
    ["write/delete-thread", "deleteThread", "throwIfAborted(signal);", ""],
  ),
  off(
    "the operations of a deleted thread are remembered",
    ["deletions", 11],
    ["write/write", "deletedEnd", "? end : undefined", "? undefined : undefined"],
  ),
];
