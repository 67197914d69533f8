import { type Amendment, amendedExpiry } from "@scrollback/store-core";
import { toBigint } from "./row.ts";

/** What the statement `amend` does to the rows `since` to `until - 1`. The names are those of its columns. */
export interface RowChange {
  readonly since: number;
  readonly until: number;
  readonly blank_all: boolean;
  /** The texts to blank, by index. Absent: none. */
  readonly blank?: readonly { readonly since: number; readonly until: number }[];
  readonly sets_expiry: boolean;
  /** Absent, where it is set: the rows never expire. */
  readonly expires_at?: number;
  /** Absent: no extension. */
  readonly at_least?: number;
  /** Absent, where rows are extended: they never expire. */
  readonly extend_to?: number;
}

type Extension = NonNullable<Amendment["extend"]>;

/** All that the amendments of one call change in the rows of one range, in their order. */
class Changes {
  blankAll = false;
  readonly blanks: { since: number; until: number }[] = [];
  expiry: { readonly at: number | undefined } | undefined;
  extensions: Extension[] = [];

  add({ blank, expiresAt, extend }: Amendment): void {
    if (blank === "all") this.blankAll = true;
    else if (blank) this.blanks.push({ since: blank.from, until: blank.to });
    if (expiresAt !== undefined) {
      this.expiry = { at: expiresAt };
      this.extensions = [];
    }
    if (!extend) return;
    if (this.expiry) this.expiry = { at: amendedExpiry(this.expiry.at, { extend }) };
    else this.extensions.push(extend);
  }

  /** As many as there are extensions, at least one. */
  *rowChanges(since: number, until: number): Generator<RowChange> {
    const [first, ...others] = this.extensions;
    yield {
      since,
      until,
      blank_all: this.blankAll,
      ...(this.blanks.length > 0 && !this.blankAll && { blank: this.blanks }),
      sets_expiry: this.expiry !== undefined,
      ...(this.expiry?.at !== undefined && { expires_at: toBigint(this.expiry.at) }),
      ...(first && extensionOf(first)),
    };
    for (const other of others)
      yield { since, until, blank_all: false, sets_expiry: false, ...extensionOf(other) };
  }
}

function extensionOf({ to, atLeast }: Extension): Pick<RowChange, "at_least" | "extend_to"> {
  return { at_least: toBigint(atLeast), ...(to !== null && { extend_to: toBigint(to) }) };
}

/**
 * What to send for the amendments of one call: the changes of one statement after the other, each without overlapping ranges,
 * as a statement changes a row once. Ranges rise, so that two statements at once lock rows in the same order and never
 * deadlock. One statement, unless a row is extended twice.
 */
export function planAmend(all: readonly Amendment[]): RowChange[][] {
  const amendments = all.filter(({ from, to }) => from < to);
  const statements: RowChange[][] = [];
  const cuts = [...new Set(amendments.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const begins = Map.groupBy(amendments.keys(), (index) => amendments[index]?.from ?? 0);
  let open: number[] = [];
  for (const [index, since] of cuts.entries()) {
    const until = cuts[index + 1];
    if (until === undefined) break;
    open = [...open.filter((one) => (amendments[one]?.to ?? 0) > since), ...(begins.get(since) ?? [])];
    if (open.length === 0) continue;
    const changes = new Changes();
    for (const one of open.toSorted((a, b) => a - b)) {
      const amendment = amendments[one];
      if (amendment) changes.add(amendment);
    }
    for (const [round, change] of [...changes.rowChanges(toBigint(since), toBigint(until))].entries()) {
      statements[round] ??= [];
      statements[round].push(change);
    }
  }
  return statements;
}
