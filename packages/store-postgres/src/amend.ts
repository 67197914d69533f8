import { type Amendment, amendedExpiry } from "@scrollback/store-core";
import { toBigint } from "./row.ts";

/** What the statement `amend` changes in the rows `since` to `until - 1`. Field names are the statement's column names. */
export interface RowChange {
  readonly since: number;
  readonly until: number;
  readonly blank_all: boolean;
  /** The texts to blank, by index. Absent: none. */
  readonly blank?: readonly { readonly since: number; readonly until: number }[];
  readonly sets_expiry: boolean;
  /** Absent although `sets_expiry`: the rows never expire. */
  readonly expires_at?: number;
  /** Absent: no extension. */
  readonly at_least?: number;
  /** Absent although `at_least` is present: the extended rows never expire. */
  readonly extend_to?: number;
}

type Extension = NonNullable<Amendment["extend"]>;

/** All changes of the rows of one range by the amendments of one call, in their order. */
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

  /** Yields one change per extension, at least one. */
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
 * Returns the changes for the amendments of one call, one array per statement. The ranges of a statement do not overlap,
 * because a statement changes a row only once. They are in ascending order, in which the statement locks rows. There is one
 * statement, unless a row is extended twice.
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
