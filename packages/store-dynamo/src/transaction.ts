import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { type Item, keyOf, PARTITION_KEY, TTL_ATTRIBUTE, toSeconds } from "./item.ts";

/** A change of a row in a transaction. */
export type Action =
  | { readonly put: Item }
  /** `before`: refused if the row is of this commit or a later one, which a query may not have seen. */
  | { readonly remove: string; readonly before?: number }
  /** Sets the expiry of a row that must exist; undefined: never. */
  | { readonly touch: string; readonly until: number | undefined };

/** Replaces a head that is still `over`; undefined: there is none. */
export function putHead(tableName: string, over: Item | undefined, head: Item): TransactWriteItem {
  const values = Object.entries({ ":inc": over?.inc, ":v": over?.v }).flatMap(([name, value]) =>
    value ? [[name, value] as const] : [],
  );
  const isSame = (name: string) => (over?.[name] ? `#${name} = :${name}` : `attribute_not_exists(#${name})`);
  return {
    Put: {
      TableName: tableName,
      Item: head,
      // An absent head has neither.
      ConditionExpression: `${isSame("inc")} AND ${isSame("v")}`,
      ExpressionAttributeNames: { "#inc": "inc", "#v": "v" },
      ...(values.length > 0 && { ExpressionAttributeValues: Object.fromEntries(values) }),
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    },
  };
}

export function toWrite(tableName: string, thread: string, action: Action): TransactWriteItem {
  if ("put" in action) return { Put: { TableName: tableName, Item: action.put } };
  if ("remove" in action) {
    const { remove, before } = action;
    const isOlder = before !== undefined && {
      ConditionExpression: "attribute_not_exists(#n) OR #n < :n",
      ExpressionAttributeNames: { "#n": "n" },
      ExpressionAttributeValues: { ":n": { N: String(before) } },
    };
    return { Delete: { TableName: tableName, Key: keyOf(thread, remove), ...isOlder } };
  }
  return {
    Update: {
      TableName: tableName,
      Key: keyOf(thread, action.touch),
      UpdateExpression: action.until === undefined ? "REMOVE #x" : "SET #x = :x",
      ConditionExpression: "attribute_exists(#thread)",
      ExpressionAttributeNames: { "#x": TTL_ATTRIBUTE, "#thread": PARTITION_KEY },
      ...(action.until !== undefined && { ExpressionAttributeValues: { ":x": toSeconds(action.until) } }),
    },
  };
}
