import type { AttributeValue, BatchStatementRequest } from "@aws-sdk/client-dynamodb";
import type { Amendment } from "@scrollback/store-core";
import { BLANK, toSeconds } from "./item.ts";

/**
 * A change of one row in PartiQL, as up to 25 UPDATE statements go into one request. A batch costs the write units of its
 * statements, no more. Not a transaction: that costs twice as much, and one missing row cancels it.
 *
 * An UPDATE never creates an item: it fails where there is no item, or where the condition does not hold.
 */
export interface Update {
  /** The SET and REMOVE clauses. */
  readonly clauses: string;
  readonly values: readonly AttributeValue[];
  /** Begins with AND. Default: none. */
  readonly condition?: string;
  readonly conditionValues?: readonly AttributeValue[];
}

/** Texts blanked by one update: DynamoDB accepts 300 operators an expression, and 8 KB a statement. */
const TEXTS_AN_UPDATE = 250;

/** All that the amendments of one call change in one row. An update costs as much as the row is large, so few. */
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
        // A text set past the list's end would be added to it, and one in another type, which is damage, would be refused.
        condition: "AND attribute_type(c, 'L') AND size(c) > ?",
        conditionValues: [{ N: String(some.at(-1)) }],
      };
    }
  }
}

/** A row without `x` meets no comparison with it, so a row that never expires stays as it is. */
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

/** The statement that makes an update of a row. */
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
