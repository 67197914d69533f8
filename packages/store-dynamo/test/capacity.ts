import type {
  AttributeValue,
  DynamoDBClient,
  TransactWriteItem,
  TransactWriteItemsCommandInput,
} from "@aws-sdk/client-dynamodb";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll } from "vitest";
import type { Item } from "../src/item.ts";
import { makeTable, type TestTable } from "./table.ts";

/** A request, and the capacity units that it took. */
export interface Sent {
  readonly action: string;
  readonly units: number;
}

interface Capacity {
  CapacityUnits?: number;
}

/** A table of its own for the tests of a file, and the requests that were sent to it since `sent` was emptied. */
export function watchedTable(): { readonly sent: Sent[]; table(): TestTable } {
  const server = sharedServer("dynamodb");
  const sent: Sent[] = [];
  let table: TestTable;
  beforeAll(async () => {
    table = await makeTable((await server).url);
    watchCapacity(table.raw, (one) => sent.push(one));
  });
  afterAll(async () => {
    await table[Symbol.asyncDispose]();
  });
  return { sent, table: () => table };
}

/**
 * Collects the requests of a client, with the capacity units that the server reports for each. DynamoDB Local reports those of one
 * action of a transaction for all: so they are computed as the service documents them.
 */
function watchCapacity(client: DynamoDBClient, onSent: (sent: Sent) => void): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const result = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: "TOTAL" } });
      const { TransactItems = [] } = args.input as TransactWriteItemsCommandInput;
      const { ConsumedCapacity = [] } = result.output as { ConsumedCapacity?: Capacity | Capacity[] };
      const units = [ConsumedCapacity].flat().reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
      const action = String(context.commandName).replace(/Command$/, "");
      onSent({ action, units: TransactItems.length > 0 ? unitsOf(TransactItems) : units });
      return result;
    },
    { step: "initialize" },
  );
}

/** Two for each KB of each item. What is removed, or gets another expiry, has less than 1 KB in these tests. */
const unitsOf = (actions: readonly TransactWriteItem[]) =>
  actions.reduce((sum, { Put }) => sum + 2 * Math.ceil(sizeOf(Put?.Item ?? {}) / 1_024 || 1), 0);

const sizeOf = (item: Item): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + name.length + sizeOfValue(value), 0);

function sizeOfValue({ S, N, B, L, M, BOOL }: AttributeValue): number {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return Math.ceil(N.length / 2) + 1;
  if (L) return L.reduce((sum, one) => sum + 1 + sizeOfValue(one), 3);
  if (M) return Object.entries(M).reduce((sum, [name, one]) => sum + 1 + name.length + sizeOfValue(one), 3);
  return B?.length ?? (BOOL === undefined ? 0 : 1);
}
