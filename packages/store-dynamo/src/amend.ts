import type { UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import type { Amendment } from "@scrollback/store-core";
import { BLANK, toSeconds } from "./item.ts";

/** What an UpdateItem does, and the condition under which it does: never to a row that is not there. */
export type Update = Pick<
  UpdateItemCommandInput,
  "UpdateExpression" | "ConditionExpression" | "ExpressionAttributeValues"
>;

/** Texts blanked by one update: below the 300 operators and 4 KB that DynamoDB takes an expression. */
const TEXTS_AN_UPDATE = 250;

/** What amendments come to for one row that all of them cover. An update costs as much as the row is large, so few. */
export class RowChange {
  #eraseTexts = false;
  readonly #blanked = new Set<number>();
  #expiresAt: number | undefined;
  readonly #extensions: (number | null)[] = [];

  add({ blank, expiresAt, extendTo }: Amendment): void {
    if (blank === "all") this.#eraseTexts = true;
    else if (blank) for (let index = blank.from; index < blank.to; index++) this.#blanked.add(index);
    if (expiresAt !== undefined) this.#expiresAt = expiresAt;
    if (extendTo !== undefined) this.#extensions.push(extendTo);
  }

  *updates(): Generator<Update> {
    if (this.#eraseTexts || this.#expiresAt !== undefined) yield this.#rewrite();
    if (!this.#eraseTexts) yield* this.#blankTexts();
    for (const extendTo of this.#extensions) yield extend(extendTo);
  }

  #rewrite(): Update {
    const set = this.#expiresAt === undefined ? "" : "SET x = :x";
    const remove = this.#eraseTexts ? "REMOVE c" : "";
    return {
      UpdateExpression: `${set} ${remove}`,
      ConditionExpression: "attribute_exists(s)",
      ...(this.#expiresAt !== undefined && {
        ExpressionAttributeValues: { ":x": toSeconds(this.#expiresAt) },
      }),
    };
  }

  *#blankTexts(): Generator<Update> {
    const indexes = [...this.#blanked].sort((a, b) => a - b);
    for (let at = 0; at < indexes.length; at += TEXTS_AN_UPDATE) {
      const some = indexes.slice(at, at + TEXTS_AN_UPDATE);
      yield {
        UpdateExpression: `SET ${some.map((index) => `c[${index}]=:b`).join(",")}`,
        // An index past the list's end would add to it.
        ConditionExpression: `attribute_exists(c[${some.at(-1)}])`,
        ExpressionAttributeValues: { ":b": BLANK },
      };
    }
  }
}

function extend(extendTo: number | null): Update {
  return extendTo === null
    ? { UpdateExpression: "REMOVE x", ConditionExpression: "attribute_exists(x)" }
    : {
        UpdateExpression: "SET x = :x",
        ConditionExpression: "x < :x",
        ExpressionAttributeValues: { ":x": toSeconds(extendTo) },
      };
}
