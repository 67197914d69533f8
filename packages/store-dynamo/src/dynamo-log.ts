import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import {
  type Amendment,
  type DriverTarget,
  type ErrorClass,
  type LogRow,
  pause,
  type RecordLog,
  type RecordLogCapabilities,
} from "@scrollback/store-core";
import { RowChange, type Update } from "./amend.ts";
import { classifyError, isThrottled, withoutRequest } from "./errors.ts";
import { type Item, keyOf, MAX_ROW_BYTES, toItem, toRow } from "./item.ts";
import type { DynamoConnection } from "./options.ts";
import { setUpTable } from "./setup.ts";

const capabilities: RecordLogCapabilities = Object.freeze({
  backend: "dynamodb",
  sharing: "network",
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
  maxRowBytes: MAX_ROW_BYTES,
});

/** So many rows are amended as they are numbered; of a longer range, those that are there are looked up first. */
const ROWS_WITHOUT_LOOKUP = 1_000;
/** DynamoDB takes a number of 32 bits; a page never has so many rows. */
const MAX_LIMIT = 2 ** 31 - 1;
const UPDATES_AT_ONCE = 16;
/** An update that is throttled for about 10 seconds fails. */
const UPDATE_ATTEMPTS = 24;

/** The record log in a DynamoDB table, an item a row; `item.ts` tells how it lies there. */
export class DynamoRecordLog implements RecordLog {
  readonly capabilities: RecordLogCapabilities = capabilities;
  readonly target: DriverTarget;
  readonly #client: DynamoDBClient;
  readonly #tableName: string;
  readonly #owned: boolean;
  readonly #closing = new AbortController();

  constructor({ client, tableName, owned }: DynamoConnection) {
    this.#client = client;
    this.#tableName = tableName;
    this.target = { collection: tableName };
    this.#owned = owned;
  }

  async insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    const put = new PutItemCommand({
      TableName: this.#tableName,
      Item: toItem(stream, row),
      ConditionExpression: "attribute_not_exists(s)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    const refusal = await refusalOf(this.#send((how) => this.#client.send(put, how)));
    if (!refusal) return true;
    // A service that stands in for DynamoDB may hand over nothing.
    return refusal.Item ? toRow(refusal.Item) : false;
  }

  async read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    return (await this.#query(stream, below, limit, heads ? "n, h, x" : "n, h, c, x")).map(toRow);
  }

  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    const changes = new Map<number, RowChange>();
    for (const amendment of amendments) {
      for (const number of await this.#numbersOf(stream, amendment)) {
        const change = changes.get(number) ?? new RowChange();
        change.add(amendment);
        changes.set(number, change);
      }
    }
    const updates = updatesOf(changes);
    const inTurn = async () => {
      // All take from one generator, which ends for all of them with the first failure.
      for (const [number, update] of updates) await this.#update(stream, number, update);
    };
    await Promise.all(Array.from({ length: UPDATES_AT_ONCE }, inTurn));
  }

  async setup(): Promise<void> {
    await this.#send(() => setUpTable(this.#client, this.#tableName));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#owned) this.#client.destroy();
  }

  classifyError(error: unknown): ErrorClass | undefined {
    return classifyError(error);
  }

  /** The items below a number, highest first, page after page of 1 MB. */
  async #query(stream: string, below: number, limit: number, projection: string): Promise<Item[]> {
    const isFromEnd = below === Number.POSITIVE_INFINITY;
    const items: Item[] = [];
    for (let start: Item | undefined; items.length < limit; ) {
      const query = new QueryCommand({
        TableName: this.#tableName,
        KeyConditionExpression: isFromEnd ? "s = :s" : "s = :s AND n < :n",
        ExpressionAttributeValues: { ":s": { S: stream }, ...(!isFromEnd && { ":n": { N: String(below) } }) },
        ProjectionExpression: projection,
        ScanIndexForward: false,
        ConsistentRead: true,
        Limit: Math.min(limit - items.length, MAX_LIMIT),
        ExclusiveStartKey: start,
      });
      const { Items = [], LastEvaluatedKey } = await this.#send((how) => this.#client.send(query, how));
      items.push(...Items);
      if (!LastEvaluatedKey) break;
      start = LastEvaluatedKey;
    }
    return items;
  }

  async #numbersOf(stream: string, { from, to }: Amendment): Promise<number[]> {
    const count = to - from + 1;
    if (count <= ROWS_WITHOUT_LOOKUP) return Array.from({ length: count }, (_, index) => from + index);
    const items = await this.#query(stream, to + 1, count, "n");
    return items.map(({ n }) => Number(n?.N)).filter((number) => number >= from);
  }

  /** A row that is not there, or to which the update's condition does not apply, is passed over. */
  async #update(stream: string, number: number, update: Update): Promise<void> {
    const command = new UpdateItemCommand({
      TableName: this.#tableName,
      Key: keyOf(stream, number),
      ...update,
    });
    for (let attempt = 1; ; attempt++) {
      try {
        await refusalOf(this.#send((how) => this.#client.send(command, how)));
        return;
      } catch (error) {
        if (!isThrottled(error) || attempt >= UPDATE_ATTEMPTS) throw error;
      }
      await pause(attempt, this.#closing.signal);
    }
  }

  async #send<T>(request: (how: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> {
    try {
      return await request({ abortSignal: this.#closing.signal });
    } catch (error) {
      throw withoutRequest(error);
    }
  }
}

function* updatesOf(changes: ReadonlyMap<number, RowChange>): Generator<[number: number, update: Update]> {
  for (const [number, change] of changes) for (const update of change.updates()) yield [number, update];
}

/** Why a conditional write was not done; undefined where it was. */
async function refusalOf(write: Promise<unknown>): Promise<ConditionalCheckFailedException | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return error;
    throw error;
  }
}
