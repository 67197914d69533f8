import { randomUUID } from "node:crypto";
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { type Clock, retry, systemClock, untilAborted } from "@scrollback/store-core/internal";
import { isBusy, isInProgress, isThrottled, refusalOfTransaction } from "./errors.ts";
import {
  type Item,
  keyOf,
  PARTITION_KEY,
  SHARD_ATTRIBUTE,
  SORT_KEY,
  THREAD_INDEX,
  TTL_ATTRIBUTE,
} from "./item.ts";
import { type Action, putHead, toWrite } from "./transaction.ts";

/** The items of a thread with sort keys from `from` to `to`. */
export interface ItemRange {
  readonly thread: string;
  readonly from: string;
  readonly to: string;
  /** Default: all. */
  readonly limit?: number;
  /** Default: "up". */
  readonly direction?: "up" | "down";
  /** Without texts. */
  readonly keysOnly?: boolean;
}

/** A head that was not replaced, because another one was found: undefined if the reply does not tell which. */
export interface Refusal {
  readonly found: Item | undefined;
}

/** What the driver needs of a table. Each verb may fail although it was done. */
export interface Table {
  get(thread: string, item: string): Promise<Item | undefined>;
  /** Items as each was at some moment of the query. */
  query(range: ItemRange): Promise<Item[]>;
  /** Puts items of batches, and removes any items by their keys, not atomically. */
  write(thread: string, puts: readonly Item[], removals: readonly string[]): Promise<void>;
  /**
   * In one transaction replaces the head, if its incarnation and version are those of `over`, and does at most 99 actions. Returns
   * undefined if it was done.
   */
  swap(over: Item | undefined, head: Item, actions: readonly Action[]): Promise<Refusal | undefined>;
  /** The clock of pauses. They end when the driver closes. */
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
}

export const MAX_ACTIONS = 100;
const ITEMS_A_WRITE = 25;
const ITEMS_A_GET = 100;
const REQUESTS_AT_ONCE = 4;
/** A batch fails after nothing of it was done for about 10 seconds. */
const ATTEMPTS = 25;
/** A transaction that meets others, or throttling, fails after about 5 seconds. */
const TRANSACTION_ATTEMPTS = 10;
/** DynamoDB accepts a 32-bit number. */
const MAX_LIMIT = 2 ** 31 - 1;

export interface TableSource {
  readonly client: DynamoDBClient;
  readonly tableName: string;
  readonly signal: AbortSignal;
  send<T>(request: (how: { abortSignal: AbortSignal }) => Promise<T>): Promise<T>;
}

/** A table by the AWS SDK. */
export class DynamoTable implements Table {
  readonly clock: Table["clock"];
  readonly #source: TableSource;

  constructor(source: TableSource) {
    const { signal } = source;
    this.#source = source;
    this.clock = {
      monotonic: () => systemClock.monotonic(),
      sleep: (ms) => untilAborted(() => systemClock.sleep(ms, signal), signal),
    };
  }

  async get(thread: string, item: string): Promise<Item | undefined> {
    const { client, tableName, send } = this.#source;
    const command = new GetItemCommand({
      TableName: tableName,
      Key: keyOf(thread, item),
      ConsistentRead: true,
    });
    return (await send((how) => client.send(command, how))).Item;
  }

  async query({
    thread,
    from,
    to,
    limit = MAX_LIMIT,
    direction = "up",
    keysOnly,
  }: ItemRange): Promise<Item[]> {
    const { client, tableName, send } = this.#source;
    const items: Item[] = [];
    let start: Item | undefined;
    do {
      const command = new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: "#thread = :thread AND #item BETWEEN :from AND :to",
        ExpressionAttributeNames: {
          "#thread": PARTITION_KEY,
          "#item": SORT_KEY,
          ...(keysOnly && attributeNames),
        },
        ExpressionAttributeValues: { ":thread": { S: thread }, ":from": { S: from }, ":to": { S: to } },
        ...(keysOnly && { ProjectionExpression: `#item, ${Object.keys(attributeNames).join()}` }),
        ScanIndexForward: direction === "up",
        ConsistentRead: true,
        Limit: Math.min(limit - items.length, MAX_LIMIT),
        ExclusiveStartKey: start,
      });
      const { Items = [], LastEvaluatedKey } = await send((how) => client.send(command, how));
      items.push(...Items);
      start = LastEvaluatedKey;
    } while (start && items.length < limit);
    return items;
  }

  async write(thread: string, puts: readonly Item[], removals: readonly string[]): Promise<void> {
    const requests: WriteRequest[] = [
      ...puts.map((Item) => ({ PutRequest: { Item } })),
      ...removals.map((item) => ({ DeleteRequest: { Key: keyOf(thread, item) } })),
    ];
    await inTurn(requests, ITEMS_A_WRITE, (some) => this.#writeAll(some));
  }

  async #writeAll(requests: readonly WriteRequest[]): Promise<void> {
    const { client, tableName, send } = this.#source;
    await this.#untilDone(requests, async (left) => {
      const command = new BatchWriteItemCommand({ RequestItems: { [tableName]: [...left] } });
      const { UnprocessedItems = {} } = await send((how) => client.send(command, how));
      return UnprocessedItems[tableName] ?? [];
    });
  }

  /** Repeats a request for what it has left out; after a pause if it has done nothing. */
  async #untilDone<T>(
    all: readonly T[],
    request: (left: readonly T[]) => Promise<readonly T[]>,
  ): Promise<void> {
    let left = all;
    const attempt = async () => {
      const before = left.length;
      left = await request(left);
      if (left.length >= before) throw unprocessed();
    };
    while (left.length > 0)
      await retry(attempt, { attempts: ATTEMPTS, isRetryable: isThrottled, signal: this.#source.signal });
  }

  /** Returns the items that are there, in no order. */
  async getAll(keys: readonly { readonly thread: string; readonly item: string }[]): Promise<Item[]> {
    const { client, tableName, send } = this.#source;
    const items: Item[] = [];
    await inTurn(keys, ITEMS_A_GET, async (some) => {
      const all: readonly Item[] = some.map(({ thread, item }) => keyOf(thread, item));
      await this.#untilDone(all, async (left) => {
        const command = new BatchGetItemCommand({
          RequestItems: { [tableName]: { Keys: [...left], ConsistentRead: true } },
        });
        const { Responses = {}, UnprocessedKeys = {} } = await send((how) => client.send(command, how));
        items.push(...(Responses[tableName] ?? []));
        return UnprocessedKeys[tableName]?.Keys ?? [];
      });
    });
    return items;
  }

  async swap(over: Item | undefined, head: Item, actions: readonly Action[]): Promise<Refusal | undefined> {
    const { client, tableName, send, signal } = this.#source;
    const thread = head[PARTITION_KEY]?.S ?? "";
    const items = [
      putHead(tableName, over, head),
      ...actions.map((action) => toWrite(tableName, thread, action)),
    ];
    let token = randomUUID();
    const transact = async () => {
      // The SDK, too, repeats a request under its token, by which DynamoDB does it once.
      const command = new TransactWriteItemsCommand({ TransactItems: items, ClientRequestToken: token });
      try {
        await send((how) => client.send(command, how));
        return undefined;
      } catch (error) {
        const refusal = refusalOfTransaction(error);
        if (refusal) return { found: refusal[0]?.Item };
        // What was cancelled is another request when it is sent again.
        if (!isInProgress(error)) token = randomUUID();
        throw error;
      }
    };
    return await retry(transact, { attempts: TRANSACTION_ATTEMPTS, isRetryable: isBusy, signal });
  }

  /** The next threads of a shard after `after`, in the order of their ids, which begin with `prefix`. */
  async threadsOf(request: {
    readonly shard: string;
    readonly prefix: string;
    readonly after: string | undefined;
    readonly limit: number;
  }): Promise<{ readonly threads: readonly string[]; readonly isEnd: boolean }> {
    const { client, tableName, send } = this.#source;
    const { shard, prefix, after, limit } = request;
    const isAfter = after !== undefined;
    const begin = isAfter
      ? " AND #thread > :after"
      : prefix === ""
        ? ""
        : " AND begins_with(#thread, :prefix)";
    const command = new QueryCommand({
      TableName: tableName,
      IndexName: THREAD_INDEX,
      ProjectionExpression: "#thread",
      KeyConditionExpression: `#shard = :shard${begin}`,
      ExpressionAttributeNames: {
        "#shard": SHARD_ATTRIBUTE,
        "#thread": PARTITION_KEY,
      },
      ExpressionAttributeValues: {
        ":shard": { S: shard },
        ...(isAfter ? { ":after": { S: after } } : prefix !== "" && { ":prefix": { S: prefix } }),
      },
      Limit: limit,
    });
    const { Items = [], LastEvaluatedKey } = await send((how) => client.send(command, how));
    const found = Items.map((item) => item[PARTITION_KEY]?.S ?? "");
    // Those of one prefix are adjacent.
    const threads = found.filter((thread) => thread.startsWith(prefix));
    return { threads, isEnd: !LastEvaluatedKey || threads.length < found.length };
  }
}

const attributeNames = {
  "#inc": "inc",
  "#n": "n",
  "#x": TTL_ATTRIBUTE,
  "#batch": "batch",
  "#from": "from",
  "#parts": "parts",
};

const unprocessed = () =>
  Object.assign(new Error("DynamoDB left a part of the batch out"), {
    name: "ProvisionedThroughputExceededException",
  });

/** Runs `step` on all values, some at once. After a failure no more begin, and it is thrown when those under way have ended. */
async function inTurn<T>(
  values: readonly T[],
  size: number,
  step: (some: readonly T[]) => Promise<void>,
): Promise<void> {
  // All loops take from one generator, which a failure ends.
  const parts = partsOf(values, size);
  const run = async () => {
    for (const part of parts) await step(part);
  };
  const ended = await Promise.allSettled(Array.from({ length: REQUESTS_AT_ONCE }, run));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

function* partsOf<T>(values: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < values.length; from += size) yield values.slice(from, from + size);
}
