import type { SourceChange } from "../../../../conformance-tests/test/fixtures/source-mutants/mutate.ts";
import { expiredAndCrash, type ScopeArguments } from "./scopes.ts";

/** A rule of the lists that is switched off. */
export interface ListsMutant {
  readonly rule: string;
  readonly changes: readonly SourceChange[];
  /** A scope that sees it: arguments of `scopeOf`. */
  readonly scope?: ScopeArguments;
  /** A world from which on the next 1,000 see it. */
  readonly seed?: number;
}

const change = (file: string, inside: string, from: string, to: string): SourceChange => ({
  file: `collections/src/lists/${file}.ts`,
  ...{ inside, from, to },
});

export const listsMutants: readonly ListsMutant[] = [
  {
    rule: "an entry is inserted before the commit that names it",
    scope: ["CU|DP"],
    changes: [
      change(
        "lists",
        "write",
        "await this.#open(member, added, to({}));",
        "Object.fromEntries(added.map((index) => [index, member.key + draft.version]));",
      ),
    ],
  },
  {
    rule: "an id is used once",
    seed: 1,
    changes: [change("entries", "open", 'randomBytes(9).toString("base64url")', '"theonlyentry"')],
  },
  {
    rule: "entries are closed before their thread is deleted",
    scope: ["CU|DP"],
    changes: [
      change(
        "removal",
        "removeThread",
        "await entries.close(member, placesOf(listed), order, listed, signal).catch(ifRefused);",
        "",
      ),
    ],
  },
  {
    rule: "open entries of an unreadable thread are sealed",
    scope: ["C|D", "", { damages: 1 }],
    changes: [
      change(
        "removal",
        "removeUnreadable",
        "await entries.seal(index, entry).catch(ifRefused)",
        "await Promise.resolve()",
      ),
    ],
  },
  {
    rule: "a sealed entry is given up",
    scope: ["C|D", "C", { damages: 1, days: 1 }],
    changes: [change("entries", "tell", "found === null || found === SEALED", "found === null")],
  },
  {
    rule: "a deletion sweeps what no head names",
    seed: 1,
    changes: [
      change("removal", "removeThread", "await sweep(entries, member, signal)", "await Promise.resolve()"),
    ],
  },
  {
    rule: "a sweep reads the head after the entries",
    scope: ["CU|DP"],
    changes: [
      change(
        "removal",
        "sweep",
        "  const found = (await",
        "  const head = await ifReadable(member.read(signal));\n  const found = (await",
      ),
      change(
        "removal",
        "sweep",
        "  if (found.length === 0) return;\n  const head = await ifReadable(member.read(signal));\n",
        "  if (found.length === 0) return;\n",
      ),
    ],
  },
  {
    rule: "a thread whose entry is gone gets another one",
    seed: 1,
    changes: [
      change(
        "telling",
        "#tell",
        "(isSame && (await this.#adopt(member, read, gone, lost > 0))) || read",
        "read",
      ),
    ],
  },
  {
    rule: "a list sends what its process has pending first",
    seed: 1,
    changes: [change("lists", "page", "await this.#telling.flush().catch(() => undefined);", "")],
  },
  {
    rule: "what a thread left is removed before its next commit",
    seed: 1,
    changes: [change("lists", "write", "if (newest.listed) await this.#telling.now(member, newest);", "")],
  },
  {
    rule: "what a thread left is removed after its new entries are there",
    seed: 1,
    changes: [
      change(
        "telling",
        "#tell",
        "      const { left } = snapshot.listed;\n      if (gone.length === 0) {\n        if (left) await this.#entries.remove(member, placesOf({ in: left }));\n        return;",
        "      const { left } = snapshot.listed;\n      if (left) await this.#entries.remove(member, placesOf({ in: left }));\n      if (gone.length === 0) {\n        return;",
      ),
    ],
  },
  {
    rule: "an entry past its thread's expiry is in doubt",
    seed: 1,
    changes: [change("lists", "#item", "value.until <= this.#clock.wall()", "value.until <= 0")],
  },
  {
    rule: "a running thread is in doubt",
    seed: 1,
    changes: [change("lists", "#item", "!value?.isDoubtful &&", "")],
  },
  {
    rule: "an update replaces only a lower version",
    scope: ["CU|DP"],
    changes: [
      {
        file: "store-core/src/memory/memory-index.ts",
        inside: "updateEntry",
        from: "if (found.entry.version < put.version) this.#put(",
        to: "this.#put(",
      },
    ],
  },
  {
    rule: "an update never creates",
    scope: ["CU|DP"],
    changes: [
      {
        file: "store-core/src/memory/memory-index.ts",
        inside: "updateEntry",
        from: "if (!found) return null;",
        to: "if (!found) {\n      this.#put(put);\n      return 0;\n    }",
      },
    ],
  },
  {
    rule: "a list leaves open entries",
    scope: ["CU|DP"],
    changes: [
      change("lists", "#item", "if (version !== OPEN && version !== SEALED) {", "if (version !== SEALED) {"),
    ],
  },
  {
    rule: "a list shows only the thread that names the entry",
    scope: ["C|P", "", { crashes: 1 }],
    changes: [
      change("lists", "#item", "!isNamed(snapshot, index, id) || !snapshot.listed", "!snapshot.listed"),
    ],
  },
  {
    rule: "a thread is deleted at the revision that was read",
    scope: ["CU|DP"],
    changes: [
      change("removal", "deletionOf", "return { expectedRevision,", "return { expectedRevision: undefined,"),
    ],
  },
  {
    rule: "a creation of unknown outcome leaves its entry",
    seed: 1,
    changes: [
      change(
        "lists",
        "write",
        "if (StoreError.is(error) && REFUSALS.includes(error.code))\n        await",
        "await",
      ),
    ],
  },
  {
    rule: "a read tells the lists",
    scope: ["A|P", "C", { crashes: 1 }],
    changes: [
      change("telling", "seen", "if (!this.#seen.has(member.threadId)) this.soon(member, snapshot);", ""),
    ],
  },
  {
    rule: "indexes are read again before all is removed",
    seed: 1_040,
    changes: [change("removal", "namesIn", "[...indexes, ...indexes.slice(0, -1)]", "indexes")],
  },
  {
    rule: "a moved thread is shown where it was until it is told",
    seed: 1,
    changes: [change("listed", "isNamed", "|| listed?.left?.[index] === id", "")],
  },
  {
    rule: "a closing entry says all places of a damaged thread",
    scope: ["D", "CL", { damaged: 1, crashes: 1 }],
    changes: [change("removal", "removeUnreadable", "listedOf(value)", "{ in: { [index]: id } }")],
  },
  {
    rule: "entries in the bases are removed last",
    scope: expiredAndCrash,
    changes: [change("entries", "remove", "[false, true]", "[true, false]")],
  },
  {
    rule: "a list removes what an ended thread's entry names",
    scope: expiredAndCrash,
    changes: [
      change(
        "lists",
        "#item",
        "placesOf(value?.listed ?? { in: { [index]: id } })",
        "placesOf({ in: { [index]: id } })",
      ),
    ],
  },
];
