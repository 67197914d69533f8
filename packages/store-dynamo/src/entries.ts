import { createHash } from "node:crypto";
import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import {
  type EntriesRequest,
  type EntryIndex,
  EntryPage,
  EntryPlace,
  type EntryPut,
  type IndexesRequest,
  type IndexListing,
  invalid,
  isId,
  SortKey,
  type StoredEntry,
} from "@scrollback/store-core/driver";
import { refusalOf } from "./errors.ts";
import { type Item, toSeconds } from "./item.ts";
import { sendOnce } from "./send-once.ts";

/** The local index that sorts the entries of an index. */
export const ORDER_INDEX = "order";

/** The maximum length of a sort key in DynamoDB. */
const MAX_SORT_BYTES = 1_024;
const DIGEST_BYTES = 32;
/** A listing of names reads at least so many entries at once. */
const ITEMS_A_REQUEST = 25;
/** Sorts after every place. */
const LAST_PLACE = "~";

/** How the index of a log sends requests. */
export interface EntrySource {
  readonly client: DynamoDBClient;
  /** The table of entries. */
  readonly tableName: string;
  send<T>(request: (how: { abortSignal: AbortSignal }) => Promise<T>): Promise<T>;
}

/**
 * The index in a DynamoDB table of its own, one item per entry. Attribute names have one letter:
 *
 * - `i`, string: the name of the index. The partition key.
 * - `p`, string: the `placeDigest`. The sort key.
 * - `o`, binary: the `sortKey`. The sort key of the local index. One of more than 1,024 bytes is cut to 992, and its SHA-256 added: so
 *   entries of one order whose keys have the same first 976 bytes are sorted by a hash among each other, in both directions.
 * - `k` and `d`, strings: key and id. `v`, number: the version. `c`, string: the value.
 * - `e`, number: the expiry in milliseconds since 1970. `x`, number: in seconds, when DynamoDB may delete the item. Absent: never.
 */
export class DynamoEntries implements EntryIndex {
  readonly #source: EntrySource;

  constructor(source: EntrySource) {
    this.#source = source;
  }

  async insertEntry(put: EntryPut): Promise<boolean> {
    const { client, tableName } = this.#source;
    const command = new PutItemCommand({
      TableName: tableName,
      Item: toItem(put),
      ConditionExpression: "attribute_not_exists(i) OR e <= :now",
      ExpressionAttributeValues: { ":now": nowValue() },
    });
    return !(await refusalOf(this.#source.send((how) => sendOnce(client, command, how))));
  }

  async updateEntry(put: EntryPut): Promise<number | null> {
    const { client, tableName } = this.#source;
    const command = new PutItemCommand({
      TableName: tableName,
      Item: toItem(put),
      ConditionExpression: "v < :v AND (attribute_not_exists(e) OR e > :now)",
      ExpressionAttributeValues: { ":v": { N: String(put.version) }, ":now": nowValue() },
      ReturnValues: "ALL_OLD",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    let replaced: Item | undefined;
    const refusal = await refusalOf(
      this.#source.send(async (how) => {
        replaced = (await client.send(command, how)).Attributes;
      }),
    );
    const found = aliveEntry(refusal ? refusal.Item : replaced);
    return found ? found.version : null;
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    const { client, tableName } = this.#source;
    const command = new DeleteItemCommand({
      TableName: tableName,
      Key: keyOfEntry(place.index, EntryPlace.digest(place)),
      ReturnValues: "ALL_OLD",
    });
    const { Attributes } = await this.#source.send((how) => client.send(command, how));
    return aliveEntry(Attributes) !== undefined;
  }

  /** Sends one request for each MB. */
  async entriesOf(place: Pick<EntryPlace, "index" | "key">): Promise<readonly StoredEntry[]> {
    const { client, tableName } = this.#source;
    const items: Item[] = [];
    let start: Item | undefined;
    do {
      const query = new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: "i = :i AND begins_with(p, :p)",
        ExpressionAttributeValues: {
          ":i": { S: place.index },
          ":p": { S: `${EntryPlace.keyDigest(place)}.` },
        },
        ConsistentRead: true,
        ExclusiveStartKey: start,
      });
      const { Items = [], LastEvaluatedKey } = await this.#source.send((how) => client.send(query, how));
      items.push(...Items);
      start = LastEvaluatedKey;
    } while (start);
    return EntryPage.alive(items.map(toEntry));
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const { client, tableName } = this.#source;
    const query = new QueryCommand({
      TableName: tableName,
      IndexName: ORDER_INDEX,
      KeyConditionExpression: `i = :i AND o ${direction === "up" ? ">" : "<"} :o`,
      ExpressionAttributeValues: {
        ":i": { S: index },
        ":o": { B: sortBytes(after ?? SortKey.ENDS[direction]) },
      },
      ScanIndexForward: direction === "up",
      ConsistentRead: true,
      Limit: limit + 1,
    });
    const { Items = [], LastEvaluatedKey } = await this.#source.send((how) => client.send(query, how));
    const entries = Items.slice(0, limit).map(toEntry);
    const last = entries.at(-1);
    const isMore = Items.length > limit || LastEvaluatedKey !== undefined;
    return { entries: EntryPage.alive(entries), ...(isMore && last && { next: SortKey.of(last) }) };
  }

  /**
   * Scans a part of the table. The next page begins after the last index on this one, however many entries that has: so a listing reads
   * few entries of each index, also of those without the prefix.
   */
  async listIndexes(request: IndexesRequest): Promise<IndexListing> {
    const { client, tableName } = this.#source;
    const { prefix, limit, cursor } = request;
    const scan = new ScanCommand({
      TableName: tableName,
      FilterExpression: `${prefix === "" ? "" : "begins_with(i, :prefix) AND "}(attribute_not_exists(e) OR e > :now)`,
      ExpressionAttributeValues: { ":now": nowValue(), ...(prefix !== "" && { ":prefix": { S: prefix } }) },
      ProjectionExpression: "i",
      ConsistentRead: true,
      Limit: Math.max(limit, ITEMS_A_REQUEST),
      ExclusiveStartKey: cursor === undefined ? undefined : parseCursor(cursor),
    });
    const { Items = [], LastEvaluatedKey } = await this.#source.send((how) => client.send(scan, how));
    const found = [...new Set(Items.map(({ i }) => i?.S ?? ""))];
    const names = found.slice(0, limit);
    if (found.length > limit) return { names, cursor: formatCursor(names.at(-1) ?? "", LAST_PLACE) };
    if (!LastEvaluatedKey) return { names };
    const [name = "", place = ""] = [LastEvaluatedKey.i?.S, LastEvaluatedKey.p?.S];
    const isDone = names.includes(name) || !name.startsWith(prefix);
    return { names, cursor: formatCursor(name, isDone ? LAST_PLACE : place) };
  }
}

function formatCursor(name: string, place: string): string {
  return `${place}/${name}`;
}

function parseCursor(cursor: string): Item {
  const [, place = "", name = ""] = /^([\w-]{43}\.[\w-]{43}|~)\/(.+)$/s.exec(cursor) ?? [];
  if (isId(name)) invalid("listIndexes: cursor must be one that listIndexes() gave for the same prefix");
  return keyOfEntry(name, place);
}

export function keyOfEntry(index: string, place: string): Item {
  return { i: { S: index }, p: { S: place } };
}

function sortBytes(sort: string): Buffer {
  const bytes = Buffer.from(sort);
  if (bytes.length <= MAX_SORT_BYTES) return bytes;
  const digest = createHash("sha256").update(bytes).digest();
  return Buffer.concat([bytes.subarray(0, MAX_SORT_BYTES - DIGEST_BYTES), digest]);
}

function nowValue(): AttributeValue {
  return { N: String(Date.now()) };
}

function toItem(put: EntryPut): Item {
  const { index, key, id, version, value, expiresAt } = put;
  return {
    ...keyOfEntry(index, EntryPlace.digest(put)),
    ...{ o: { B: sortBytes(SortKey.of(put)) }, k: { S: key }, d: { S: id } },
    ...{ v: { N: String(version) }, c: { S: value } },
    ...(expiresAt !== undefined && { e: { N: String(expiresAt) }, x: toSeconds(expiresAt) }),
  };
}

function toEntry({ o, k, d, v, c, e }: Item): StoredEntry {
  return {
    ...{ key: k?.S ?? "", id: d?.S ?? "", version: Number(v?.N), value: c?.S ?? "" },
    order: SortKey.orderOf(Buffer.from(o?.B ?? []).toString("latin1")),
    ...(e?.N !== undefined && { expiresAt: Number(e.N) }),
  };
}

function aliveEntry(item: Item | undefined): StoredEntry | undefined {
  return item && EntryPage.alive([toEntry(item)])[0];
}
