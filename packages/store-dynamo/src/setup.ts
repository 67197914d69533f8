import { isDeepStrictEqual } from "node:util";
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  type CreateTableCommandInput,
  DeleteItemCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  PutItemCommand,
  QueryCommand,
  ResourceInUseException,
  ResourceNotFoundException,
  type TableDescription,
  TransactWriteItemsCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { StoreError } from "@scrollback/store-core";
import type { ErrorClassification } from "@scrollback/store-core/driver";
import { keyOfEntry, ORDER_INDEX } from "./entries.ts";
import { otherEntries, otherTable, refusalOf, refusalOfTransaction } from "./errors.ts";
import { keyOf, PARTITION_KEY, SHARD_ATTRIBUTE, SORT_KEY, THREAD_INDEX, TTL_ATTRIBUTE } from "./item.ts";

const LONGEST_WAIT_S = 120;

/** The table that `setup()` creates, with the index of heads, by which threads are listed. */
export function tableDefinition(tableName: string) {
  return {
    TableName: tableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: PARTITION_KEY, AttributeType: "S" },
      { AttributeName: SORT_KEY, AttributeType: "S" },
      { AttributeName: SHARD_ATTRIBUTE, AttributeType: "S" },
    ],
    KeySchema: [
      { AttributeName: PARTITION_KEY, KeyType: "HASH" },
      { AttributeName: SORT_KEY, KeyType: "RANGE" },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: THREAD_INDEX,
        KeySchema: [
          { AttributeName: SHARD_ATTRIBUTE, KeyType: "HASH" },
          { AttributeName: PARTITION_KEY, KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
  } satisfies CreateTableCommandInput;
}

/** The name of the table of the index beside that of threads. */
export const entriesName = (tableName: string) => `${tableName}-entries`;

/** The table of the index that `setup()` creates, with the local index that sorts entries. It cannot be added later. */
export function entriesDefinition(tableName: string) {
  return {
    TableName: entriesName(tableName),
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: "i", AttributeType: "S" },
      { AttributeName: "p", AttributeType: "S" },
      { AttributeName: "o", AttributeType: "B" },
    ],
    KeySchema: [
      { AttributeName: "i", KeyType: "HASH" },
      { AttributeName: "p", KeyType: "RANGE" },
    ],
    LocalSecondaryIndexes: [
      {
        IndexName: ORDER_INDEX,
        KeySchema: [
          { AttributeName: "i", KeyType: "HASH" },
          { AttributeName: "o", KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "ALL" },
      },
    ],
  } satisfies CreateTableCommandInput;
}

/** A table that `setup()` creates. */
export interface SetupTable {
  readonly tableName: string;
  readonly definition: CreateTableCommandInput;
  /** The error for an existing table that differs. */
  readonly other: ErrorClassification;
  /** Tries every kind of write, with conditions that are never true. */
  tryWrites(client: DynamoDBClient, tableName: string): Promise<void>;
}

/** The table of threads, and the one of the index. */
export function tablesOf(tableName: string): SetupTable[] {
  return [
    { tableName, definition: tableDefinition(tableName), other: otherTable, tryWrites },
    {
      tableName: entriesName(tableName),
      definition: entriesDefinition(tableName),
      other: otherEntries,
      tryWrites: tryEntryWrites,
    },
  ];
}

/**
 * Creates a missing table, billed per request, waits until it is active, and enables its expiry. Makes no other change to an
 * existing table. A user without permission to describe tables can use an existing table. Finally checks the permission to
 * write.
 *
 * @returns whether it created the table.
 */
export async function setUpTable(client: DynamoDBClient, table: SetupTable): Promise<boolean> {
  let made = false;
  try {
    made = await make(client, table);
  } catch (error) {
    if (!(error instanceof Error && error.name === "AccessDeniedException")) throw error;
  }
  await table.tryWrites(client, table.tableName);
  return made;
}

async function make(client: DynamoDBClient, { tableName, definition, other }: SetupTable): Promise<boolean> {
  const found = await describe(client, tableName);
  const made = !found && (await create(client, definition));
  if (found && !hasKeysOf(found, definition)) throw new StoreError(other.code, other.message);
  if (!found || found.TableStatus === "CREATING") {
    const wait = { client, maxWaitTime: LONGEST_WAIT_S, minDelay: 1, maxDelay: 4 };
    await waitUntilTableExists(wait, { TableName: tableName });
  }
  await enableExpiry(client, tableName);
  return made;
}

async function describe(client: DynamoDBClient, tableName: string): Promise<TableDescription | undefined> {
  try {
    return (await client.send(new DescribeTableCommand({ TableName: tableName }))).Table;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

/** Whether a table has the keys and local indexes of a definition. */
function hasKeysOf(
  { KeySchema, AttributeDefinitions = [], LocalSecondaryIndexes = [] }: TableDescription,
  definition: CreateTableCommandInput,
): boolean {
  const types = new Set(AttributeDefinitions.map((one) => `${one.AttributeName} ${one.AttributeType}`));
  const local = definition.LocalSecondaryIndexes ?? [];
  const keys = [KeySchema, ...local.map((index) => index.KeySchema)].flat();
  return (
    isDeepStrictEqual(KeySchema, definition.KeySchema) &&
    local.every(({ IndexName, KeySchema: own }) =>
      LocalSecondaryIndexes.some(
        (one) => one.IndexName === IndexName && isDeepStrictEqual(one.KeySchema, own),
      ),
    ) &&
    (definition.AttributeDefinitions ?? [])
      .filter(({ AttributeName }) => keys.some((key) => key?.AttributeName === AttributeName))
      .every((one) => types.has(`${one.AttributeName} ${one.AttributeType}`))
  );
}

async function create(client: DynamoDBClient, definition: CreateTableCommandInput): Promise<boolean> {
  try {
    await client.send(new CreateTableCommand(definition));
    return true;
  } catch (error) {
    // Another process is creating it.
    if (!(error instanceof ResourceInUseException)) throw error;
    return false;
  }
}

async function enableExpiry(client: DynamoDBClient, tableName: string): Promise<void> {
  if (await hasExpiry(client, tableName)) return;
  try {
    await client.send(
      new UpdateTimeToLiveCommand({
        TableName: tableName,
        TimeToLiveSpecification: { AttributeName: TTL_ATTRIBUTE, Enabled: true },
      }),
    );
  } catch (error) {
    // If another process was first, DynamoDB only reports that the request is not valid.
    if (!(await hasExpiry(client, tableName))) throw error;
  }
}

async function hasExpiry(client: DynamoDBClient, tableName: string): Promise<boolean> {
  const command = new DescribeTimeToLiveCommand({ TableName: tableName });
  const { TimeToLiveDescription: { AttributeName, TimeToLiveStatus } = {} } = await client.send(command);
  if (TimeToLiveStatus !== "ENABLED" && TimeToLiveStatus !== "ENABLING") return false;
  if (AttributeName !== TTL_ATTRIBUTE) {
    throw new StoreError(
      "UNSUPPORTED",
      `dynamodb: the table expires items by the attribute "${AttributeName}"; the stores need "${TTL_ATTRIBUTE}"; use another table`,
    );
  }
  return true;
}

/** Tries each action of a transaction on an item that never exists, on condition that it exists; then removes it, and looks for it. */
async function tryWrites(client: DynamoDBClient, tableName: string): Promise<void> {
  const key = (item: string) => keyOf("setup", item);
  const onlyIfThere = { TableName: tableName, ConditionExpression: `attribute_exists(${PARTITION_KEY})` };
  const transaction = new TransactWriteItemsCommand({
    TransactItems: [
      { Put: { ...onlyIfThere, Item: key("put") } },
      { Delete: { ...onlyIfThere, Key: key("delete") } },
      { Update: { ...onlyIfThere, Key: key("update"), UpdateExpression: `REMOVE ${TTL_ATTRIBUTE}` } },
    ],
  });
  try {
    await client.send(transaction);
  } catch (error) {
    if (!refusalOfTransaction(error)) throw error;
  }
  const removal = { DeleteRequest: { Key: key("delete") } };
  await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: [removal] } }));
  const query = {
    TableName: tableName,
    KeyConditionExpression: `${PARTITION_KEY} = :thread`,
    ExpressionAttributeValues: { ":thread": { S: "setup" } },
  };
  await client.send(new QueryCommand({ ...query, Limit: 1 }));
}

/** Puts and deletes an entry that never exists, on condition that it exists. */
async function tryEntryWrites(client: DynamoDBClient, tableName: string): Promise<void> {
  const key = keyOfEntry("setup", "setup");
  const onlyIfThere = { TableName: tableName, ConditionExpression: "attribute_exists(i)" };
  await refusalOf(client.send(new PutItemCommand({ ...onlyIfThere, Item: key })));
  await refusalOf(client.send(new DeleteItemCommand({ ...onlyIfThere, Key: key })));
}
