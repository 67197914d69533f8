import type { SourceChange } from "../../../../conformance-tests/test/fixtures/source-mutants/mutate.ts";

/** A rule that is left out, and the scope in which the explorer must see it. */
export interface PlantedFault {
  readonly name: string;
  readonly scope: string;
  readonly changes: readonly SourceChange[];
}

function fault(
  name: string,
  scope: string,
  file: string,
  inside: string,
  from: string,
  to: string,
): PlantedFault {
  return { name, scope, changes: [{ file: `documents/src/${file}.ts`, inside, from, to }] };
}

const writer = "driver/thread-writer";
const appends = "appends beside appends";
const clear = "a clear beside an append";
const deletion = "a deletion beside an append";
const raise = "a raise, and the time passes";

export const faults: readonly PlantedFault[] = [
  fault(
    "a page is written under an id that was used",
    clear,
    writer,
    "#plan",
    "newIncarnation().slice(0, SEED_LENGTH)",
    '"a".repeat(SEED_LENGTH)',
  ),
  fault(
    "what a failed plan wrote stays",
    appends,
    writer,
    "#removeUnneeded",
    "[...leaving, ...unneeded]",
    "leaving",
  ),
  fault(
    "what a plan wrote is removed while its swap may still land",
    clear,
    writer,
    "#removeUnneeded",
    "memory.orphans.filter((one) => one.token !== token)",
    "memory.orphans",
  ),
  fault("what is leaving stays", clear, writer, "#removeUnneeded", "[...leaving, ...unneeded]", "unneeded"),
  fault(
    "what is leaving is removed before the swap",
    clear,
    writer,
    "#prepare",
    "const memory = this.#memory;",
    "const memory = this.#memory; await this.#database.remove(this.#threadId, head.leaving);",
  ),
  fault(
    "an operation is not looked up",
    appends,
    "rules/draft",
    "commit",
    "if (known) {",
    "if (known && !known.isSame) {",
  ),
  fault(
    "what a deletion found stays",
    deletion,
    writer,
    "delete",
    "incarnation: newIncarnation(), ids }",
    "incarnation: newIncarnation(), ids: [] }",
  ),
  fault(
    "a deletion is not remembered",
    deletion,
    "rules/deletion",
    "deadHead",
    "Operations.add(remembered, operation, n, now)",
    "remembered",
  ),
  fault(
    "a new incarnation forgets the operations of the deleted one",
    "an append whose reply is lost, beside a deletion",
    "rules/draft",
    "#begin",
    "isDead ? Operations.ofFormer(base.operations) : Operations.NONE",
    "Operations.NONE",
  ),
  fault(
    "a new incarnation leaves the pages of an expired one",
    "an expired thread that is begun again",
    "rules/draft",
    "#begin",
    "this.#leaving.push(...listedIds(base))",
    "this.#leaving.push()",
  ),
  fault(
    "pages are not raised",
    raise,
    writer,
    "#prepare",
    "if (raised.length > 0) await",
    "if (raised.length < 0) await",
  ),
  fault(
    "the clock is not read again after a raise",
    raise,
    writer,
    "#prepare",
    "return isSame || this.#clock.wall() < expiresAt;",
    "return true;",
  ),
  fault(
    "pages that never expire are kept by a commit that expires",
    "from never to a time that passes",
    "rules/draft",
    "finish",
    "if (this.#isAlive && isLater(before, until)) this.#rewriteAll();",
    "",
  ),
  fault(
    "a call is repeated after its time",
    "a deletion, and its head is swept",
    writer,
    "#assertInTime",
    "now < sendBefore",
    "now > 0",
  ),
  fault(
    "an expired thread goes on",
    "an expired thread that is begun again",
    "rules/times",
    "isAlive",
    "now >= head.expiresAt",
    "now < 0",
  ),
  fault(
    "a read does not look again",
    "a read beside a trim",
    "driver/load-pages",
    "loadPages",
    "if (present?.token !== token) return present;",
    "",
  ),
  fault(
    "a read of a thread that expires meanwhile finds it damaged",
    raise,
    "document-driver",
    "read",
    "!isAlive(head, this.#options.clock.wall())) return NO_THREAD;\n      if (moved",
    "false) return NO_THREAD;\n      if (moved",
  ),
  fault(
    "a pinned message is not copied",
    "trims of a pinned message",
    "rules/draft",
    "#pin",
    "if (known || ",
    "if (sequence > 0 || ",
  ),
];
