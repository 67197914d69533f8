import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { policy } from "./docs.ts";
import { connect, dynamoHarnesses, permissions } from "./harness.ts";
import { newTableName, urlOf } from "./table.ts";

const server = sharedServer("dynamodb");

runConformance({ name: "DynamoDB", createHarness: dynamoHarnesses(server) });

test("the whole suite, and a setup that creates the table, need exactly what the documented policy allows", async () => {
  const driver = connect(urlOf(newTableName(), (await server).url));
  await driver.setup?.();
  await driver.close();
  // The policy has separate statements for the table and its index.
  expect(permissions).toEqual(new Set(Object.values(policy).flat()));
});
