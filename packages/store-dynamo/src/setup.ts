import { isDeepStrictEqual } from "node:util";
import {
  BatchExecuteStatementCommand,
  CreateTableCommand,
  type CreateTableCommandInput,
  DeleteItemCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  PutItemCommand,
  ResourceInUseException,
  ResourceNotFoundException,
  type TableDescription,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { StoreError } from "@scrollback/store-core";
import type { ErrorClassification } from "@scrollback/store-core/driver";
import { statementOf } from "./amend.ts";
import { keyOfEntry, ORDER_INDEX } from "./entries.ts";
import { errorOfStatement, isRefusal, otherEntries, otherTable, refusalOf } from "./errors.ts";
import { keyOf, PARTITION_KEY, SHARD_ATTRIBUTE, SORT_KEY, TTL_ATTRIBUTE } from "./item.ts";
import { ROOT_INDEX } from "./roots.ts";

const LONGEST_WAIT_S = 120;

/** The table that `setup()` creates, with the index of roots, by which threads are listed. */
export function tableDefinition(tableName: string) {
  return {
    TableName: tableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: PARTITION_KEY, AttributeType: "S" },
      { AttributeName: SORT_KEY, AttributeType: "N" },
      { AttributeName: SHARD_ATTRIBUTE, AttributeType: "S" },
    ],
    KeySchema: [
      { AttributeName: PARTITION_KEY, KeyType: "HASH" },
      { AttributeName: SORT_KEY, KeyType: "RANGE" },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: ROOT_INDEX,
        KeySchema: [
          { AttributeName: SHARD_ATTRIBUTE, KeyType: "HASH" },
          { AttributeName: PARTITION_KEY, KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
  } satisfies CreateTableCommandInput;
}

/** The name of the table of the index beside a log. */
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

/** The table of the log, and the one of the index. */
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
 */
export async function setUpTable(client: DynamoDBClient, table: SetupTable): Promise<void> {
  try {
    await make(client, table);
  } catch (error) {
    if (!(error instanceof Error && error.name === "AccessDeniedException")) throw error;
  }
  await table.tryWrites(client, table.tableName);
}

async function make(client: DynamoDBClient, { tableName, definition, other }: SetupTable): Promise<void> {
  const found = await describe(client, tableName);
  if (!found) await create(client, definition);
  else if (!hasKeysOf(found, definition)) throw new StoreError(other.code, other.message);
  if (!found || found.TableStatus === "CREATING") {
    const wait = { client, maxWaitTime: LONGEST_WAIT_S, minDelay: 1, maxDelay: 4 };
    await waitUntilTableExists(wait, { TableName: tableName });
  }
  await enableExpiry(client, tableName);
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

async function create(client: DynamoDBClient, definition: CreateTableCommandInput): Promise<void> {
  try {
    await client.send(new CreateTableCommand(definition));
  } catch (error) {
    // Another process is creating it.
    if (!(error instanceof ResourceInUseException)) throw error;
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

/** Writes to a row that never exists, on condition that it exists, so that nothing is written. */
async function tryWrites(client: DynamoDBClient, tableName: string): Promise<void> {
  const [stream, number] = ["setup", 0] as const;
  const put = new PutItemCommand({
    TableName: tableName,
    Item: keyOf(stream, number),
    ConditionExpression: `attribute_exists(${PARTITION_KEY})`,
  });
  await refusalOf(client.send(put));
  const update = statementOf(tableName, stream, number, { clauses: `REMOVE ${TTL_ATTRIBUTE}`, values: [] });
  const { Responses = [] } = await client.send(new BatchExecuteStatementCommand({ Statements: [update] }));
  for (const { Error: refused } of Responses) {
    const error = refused && errorOfStatement(refused);
    if (error && !isRefusal(error)) throw error;
  }
}

/** Puts and deletes an entry that never exists, on condition that it exists. */
async function tryEntryWrites(client: DynamoDBClient, tableName: string): Promise<void> {
  const key = keyOfEntry("setup", "setup");
  const onlyIfThere = { TableName: tableName, ConditionExpression: "attribute_exists(i)" };
  await refusalOf(client.send(new PutItemCommand({ ...onlyIfThere, Item: key })));
  await refusalOf(client.send(new DeleteItemCommand({ ...onlyIfThere, Key: key })));
}
