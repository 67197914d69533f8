import { isDeepStrictEqual } from "node:util";
import {
  BatchExecuteStatementCommand,
  ConditionalCheckFailedException,
  CreateTableCommand,
  type CreateTableCommandInput,
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
import { statementOf } from "./amend.ts";
import { errorOfStatement, isRefusal, otherTable } from "./errors.ts";
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

/**
 * Creates a missing table, billed per request, waits until it is active, and enables its expiry. Makes no other change to an
 * existing table. A user without permission to describe tables can use an existing table. Finally checks the permission to
 * write.
 */
export async function setUpTable(client: DynamoDBClient, tableName: string): Promise<void> {
  try {
    await make(client, tableName);
  } catch (error) {
    if (!(error instanceof Error && error.name === "AccessDeniedException")) throw error;
  }
  await tryWrites(client, tableName);
}

async function make(client: DynamoDBClient, tableName: string): Promise<void> {
  const found = await describe(client, tableName);
  if (!found) await create(client, tableName);
  else if (!hasOurKeys(found)) throw new StoreError(otherTable.code, otherTable.message);
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

function hasOurKeys({ TableName = "", KeySchema, AttributeDefinitions = [] }: TableDescription): boolean {
  const types = new Set(AttributeDefinitions.map((one) => `${one.AttributeName} ${one.AttributeType}`));
  return (
    isDeepStrictEqual(KeySchema, tableDefinition(TableName).KeySchema) &&
    types.has(`${PARTITION_KEY} S`) &&
    types.has(`${SORT_KEY} N`)
  );
}

async function create(client: DynamoDBClient, tableName: string): Promise<void> {
  try {
    await client.send(new CreateTableCommand(tableDefinition(tableName)));
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
  try {
    await client.send(
      new PutItemCommand({
        TableName: tableName,
        Item: keyOf(stream, number),
        ConditionExpression: `attribute_exists(${PARTITION_KEY})`,
      }),
    );
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
  }
  const update = statementOf(tableName, stream, number, { clauses: `REMOVE ${TTL_ATTRIBUTE}`, values: [] });
  const { Responses = [] } = await client.send(new BatchExecuteStatementCommand({ Statements: [update] }));
  for (const { Error: refused } of Responses) {
    const error = refused && errorOfStatement(refused);
    if (error && !isRefusal(error)) throw error;
  }
}
