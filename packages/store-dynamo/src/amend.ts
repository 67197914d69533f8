import type { AttributeValue, BatchStatementRequest } from "@aws-sdk/client-dynamodb";
import type { Amendment } from "@scrollback/record-log";
import { BLANK, toSeconds } from "./item.ts";

/**
 * A change of one row in PartiQL, because one request takes up to 25 UPDATE statements. A batch costs only the write units of
 * its statements. A transaction would cost twice as much, and one missing row would cancel it.
 *
 * An UPDATE never creates an item: it fails if the item is missing or the condition is false.
 */
export interface Update {
  /** The SET and REMOVE clauses. */
  readonly clauses: string;
  readonly values: readonly AttributeValue[];
  /** Starts with AND. Default: none. */
  readonly condition?: string;
  readonly conditionValues?: readonly AttributeValue[];
}

/** Texts blanked by one update: DynamoDB accepts 300 operators per expression and 8 KB per statement. */
const TEXTS_AN_UPDATE = 250;

/** All changes of one row by the amendments of one call, in few updates, because each costs the size of the row. */
export class RowChange {
  #eraseTexts = false;
  readonly #blanked = new Set<number>();
  #expiresAt: number | undefined;
  readonly #extensions: NonNullable<Amendment["extend"]>[] = [];

  add({ blank, expiresAt, extend }: Pick<Amendment, "blank" | "expiresAt" | "extend">): void {
    if (blank === "all") this.#eraseTexts = true;
    else if (blank) for (let index = blank.from; index < blank.to; index++) this.#blanked.add(index);
    if (expiresAt !== undefined) this.#expiresAt = expiresAt;
    if (extend) this.#extensions.push(extend);
  }

  *updates(): Generator<Update> {
    if (this.#eraseTexts || this.#expiresAt !== undefined) yield this.#rewrite();
    if (!this.#eraseTexts) yield* this.#blankTexts();
    for (const extension of this.#extensions) yield extend(extension);
  }

  #rewrite(): Update {
    const clauses = [this.#expiresAt === undefined ? "" : "SET x=?", this.#eraseTexts ? "REMOVE c" : ""];
    return {
      clauses: clauses.join(" ").trim(),
      values: this.#expiresAt === undefined ? [] : [toSeconds(this.#expiresAt)],
    };
  }

  *#blankTexts(): Generator<Update> {
    const indexes = [...this.#blanked].sort((a, b) => a - b);
    for (let at = 0; at < indexes.length; at += TEXTS_AN_UPDATE) {
      const some = indexes.slice(at, at + TEXTS_AN_UPDATE);
      yield {
        clauses: some.map((index) => `SET c[${index}]=?`).join(" "),
        values: some.map(() => BLANK),
        // A text set after the end of the list would be appended, and a value of another type, which is damage, rejected.
        condition: "AND attribute_type(c, 'L') AND size(c) > ?",
        conditionValues: [{ N: String(some.at(-1)) }],
      };
    }
  }
}

/** Comparisons with a missing `x` are false, so a row that never expires stays unchanged. */
function extend({ to, atLeast }: NonNullable<Amendment["extend"]>): Update {
  if (to === null) {
    return {
      clauses: "REMOVE x",
      values: [],
      condition: "AND x >= ?",
      conditionValues: [toSeconds(atLeast)],
    };
  }
  return {
    clauses: "SET x=?",
    values: [toSeconds(to)],
    condition: "AND x >= ? AND x < ?",
    conditionValues: [toSeconds(atLeast), toSeconds(to)],
  };
}

/** Returns the statement for an update of a row. */
export function statementOf(
  tableName: string,
  stream: string,
  number: number,
  { clauses, values, condition = "", conditionValues = [] }: Update,
): BatchStatementRequest {
  return {
    Statement: `UPDATE "${tableName}" ${clauses} WHERE s=? AND n=? ${condition}`.trimEnd(),
    Parameters: [...values, { S: stream }, { N: String(number) }, ...conditionValues],
  };
}
