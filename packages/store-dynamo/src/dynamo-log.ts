import {
  BatchExecuteStatementCommand,
  type BatchStatementRequest,
  type DynamoDBClient,
  PutItemCommand,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import type {
  Amendment,
  LogRow,
  RecordLog,
  RecordLogCapabilities,
  StreamPage,
  StreamsRequest,
} from "@scrollback/record-log";
import { type DriverTarget, type ErrorClassification, PendingCalls } from "@scrollback/store-core/driver";
import { retry } from "@scrollback/store-core/internal";
import { RowChange, statementOf, type Update } from "./amend.ts";
import { endpointOf } from "./endpoint.ts";
import { DynamoEntries } from "./entries.ts";
import {
  classifyError,
  errorOfStatement,
  isRefusal,
  isThrottled,
  refusalOf,
  withoutRequest,
} from "./errors.ts";
import { type Item, keyOf, MAX_ROW_BYTES, toItem, toRow } from "./item.ts";
import type { DynamoConnection } from "./options.ts";
import { type QueryRoots, ROOT_INDEX, type Root, streamPage } from "./roots.ts";
import { entriesName, setUpTable, tablesOf } from "./setup.ts";

const capabilities: RecordLogCapabilities = Object.freeze({
  backend: "dynamodb",
  sharing: "network",
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
  maxRowBytes: MAX_ROW_BYTES,
});

/**
 * The keys of a longer range are read first: an update of a missing row costs a write unit, as much as reading 20 rows of
 * 1 KB. The range of an amendment after 32 commits is shorter, and its rows exist.
 */
const ROWS_WITHOUT_LOOKUP = 100;
/** DynamoDB accepts a 32-bit number; a page never has more rows. */
const MAX_LIMIT = 2 ** 31 - 1;
/** The maximum number of statements per request in DynamoDB. */
const UPDATES_A_BATCH = 25;
const BATCHES_AT_ONCE = 4;
/** Statements that DynamoDB throttled, and its error. */
interface Throttled {
  readonly statements: readonly BatchStatementRequest[];
  readonly error: unknown;
}

/** An update fails after it was throttled for about 10 seconds. */
const UPDATE_ATTEMPTS = 25;

/** The record log in a DynamoDB table: one item per row. `item.ts` has the layout, `amend.ts` the changes of rows. */
export class DynamoRecordLog implements RecordLog {
  readonly capabilities: RecordLogCapabilities = capabilities;
  readonly target: DriverTarget;
  readonly index: DynamoEntries;
  readonly #client: DynamoDBClient;
  readonly #tableName: string;
  readonly #owned: boolean;
  readonly #calls = new PendingCalls();
  /** Set after a request has failed. */
  #endpoint: string | undefined;

  constructor({ client, tableName, owned }: DynamoConnection) {
    this.#client = client;
    this.#tableName = tableName;
    this.target = { collection: tableName };
    this.#owned = owned;
    this.index = new DynamoEntries({
      client,
      tableName: entriesName(tableName),
      send: (request) => this.#send(request),
    });
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
    // A DynamoDB-compatible server may return no item.
    return refusal.Item ? toRow(refusal.Item) : false;
  }

  async read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    return (await this.#query(stream, 1, below, limit, heads ? "n, h, x" : "n, h, c, x")).map(toRow);
  }

  /** Sends one request for every 25 rows, and one query for each range of more than 100 numbers. */
  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    const batches = batchesOf(await this.#changesOf(stream, amendments));
    const inTurn = async () => {
      // All loops take from one generator. The first failure ends it for all of them.
      for (const batch of batches) {
        await this.#update(
          batch.map(([number, update]) => statementOf(this.#tableName, stream, number, update)),
        );
      }
    };
    await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, inTurn));
  }

  /** Sends 1 to 16 requests. The index is eventually consistent: a new stream appears in it after a short delay. */
  streams(request: StreamsRequest): Promise<StreamPage> {
    return streamPage(request, this.#queryRoots);
  }

  readonly #queryRoots: QueryRoots = async ({ shard, prefix, after, limit }) => {
    const query = new QueryCommand({
      TableName: this.#tableName,
      IndexName: ROOT_INDEX,
      KeyConditionExpression: `r = :r${prefix === "" ? "" : " AND begins_with(s, :prefix)"}`,
      ExpressionAttributeValues: { ":r": { S: shard }, ...(prefix !== "" && { ":prefix": { S: prefix } }) },
      ProjectionExpression: "s, n",
      Limit: limit,
      ExclusiveStartKey: after && { ...keyOf(after.stream, after.number), r: { S: shard } },
    });
    const { Items = [], LastEvaluatedKey } = await this.#send((how) => this.#client.send(query, how));
    return { roots: Items.map(toRoot), last: LastEvaluatedKey && toRoot(LastEvaluatedKey) };
  };

  async setup(): Promise<void> {
    for (const table of tablesOf(this.#tableName)) await this.#send(() => setUpTable(this.#client, table));
  }

  async close(): Promise<void> {
    await this.#calls.close(() => this.#owned && this.#client.destroy());
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifyError(error, this.#endpoint);
  }

  /** Returns the items `from` to `below - 1`, highest first, in pages of 1 MB. */
  async #query(
    stream: string,
    from: number,
    below: number,
    limit: number,
    projection: string,
  ): Promise<Item[]> {
    const isWhole = from === 1 && below === Number.POSITIVE_INFINITY;
    const last = Math.min(below - 1, Number.MAX_SAFE_INTEGER);
    const items: Item[] = [];
    if (last < from) return items;
    for (let start: Item | undefined; items.length < limit; ) {
      const query = new QueryCommand({
        TableName: this.#tableName,
        KeyConditionExpression: isWhole ? "s = :s" : "s = :s AND n BETWEEN :from AND :last",
        ExpressionAttributeValues: {
          ":s": { S: stream },
          ...(!isWhole && { ":from": { N: String(from) }, ":last": { N: String(last) } }),
        },
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

  /** The changes by amendments, by row number. */
  async #changesOf(stream: string, amendments: readonly Amendment[]): Promise<Map<number, RowChange>> {
    const changes = new Map<number, RowChange>();
    for (const range of joined(amendments)) {
      const own = amendments.filter(({ from, to }) => from < range.to && to > range.from);
      for (const number of await this.#numbersIn(stream, range)) {
        const change = new RowChange();
        for (const amendment of own) {
          if (amendment.from <= number && number < amendment.to) change.add(amendment);
        }
        changes.set(number, change);
      }
    }
    return changes;
  }

  async #numbersIn(stream: string, { from, to }: NumberRange): Promise<number[]> {
    if (to - from <= ROWS_WITHOUT_LOOKUP)
      return Array.from({ length: to - from }, (_, index) => from + index);
    const items = await this.#query(stream, from, to, Number.POSITIVE_INFINITY, "n");
    return items.map(({ n }) => Number(n?.N));
  }

  /** Updates rows. Skips a row that is missing or does not meet the update's condition. */
  async #update(statements: readonly BatchStatementRequest[]): Promise<void> {
    let left = statements;
    let throttled: Throttled | undefined;
    const update = async () => {
      throttled = await this.#updateOnce(left);
      if (!throttled) return;
      left = throttled.statements;
      throw throttled.error;
    };
    const isRetryable = (error: unknown) => error === throttled?.error;
    await retry(update, { attempts: UPDATE_ATTEMPTS, isRetryable, signal: this.#calls.signal });
  }

  async #updateOnce(statements: readonly BatchStatementRequest[]): Promise<Throttled | undefined> {
    const batch = new BatchExecuteStatementCommand({ Statements: [...statements] });
    let errors: (Error | undefined)[];
    try {
      const { Responses = [] } = await this.#send((how) => this.#client.send(batch, how));
      errors = Responses.map(({ Error: error }) => error && errorOfStatement(error));
    } catch (error) {
      if (isThrottled(error)) return { statements, error };
      throw error;
    }
    const failed = errors.filter((error) => error !== undefined);
    const fatal = failed.find((error) => !isThrottled(error) && !isRefusal(error));
    if (fatal) throw fatal;
    const error = failed.find(isThrottled);
    return error && { statements: statements.filter((_, index) => isThrottled(errors[index])), error };
  }

  #send<T>(request: (how: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> {
    return this.#calls.run(async () => {
      try {
        return await request({ abortSignal: this.#calls.signal });
      } catch (error) {
        this.#endpoint ??= await endpointOf(this.#client);
        throw withoutRequest(error);
      }
    });
  }
}

function toRoot({ s, n }: Item): Root {
  return { stream: s?.S ?? "", number: Number(n?.N) };
}

type NumberRange = Pick<Amendment, "from" | "to">;

/** Returns ranges without overlaps that cover all given ranges. */
function joined(ranges: readonly NumberRange[]): NumberRange[] {
  const sorted = ranges.filter(({ from, to }) => from < to).sort((a, b) => a.from - b.from);
  const whole: { from: number; to: number }[] = [];
  for (const { from, to } of sorted) {
    const last = whole.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else whole.push({ from, to });
  }
  return whole;
}

/** Batches of updates. DynamoDB rejects a batch with two updates of one row. */
function* batchesOf(
  changes: ReadonlyMap<number, RowChange>,
): Generator<(readonly [number: number, update: Update])[]> {
  const updates = [...changes].map(([number, change]) => [number, [...change.updates()]] as const);
  for (let round = 0; ; round++) {
    const due = updates.flatMap(([number, all]) => {
      const update = all[round];
      return update ? [[number, update] as const] : [];
    });
    if (due.length === 0) return;
    for (let at = 0; at < due.length; at += UPDATES_A_BATCH) yield due.slice(at, at + UPDATES_A_BATCH);
  }
}
