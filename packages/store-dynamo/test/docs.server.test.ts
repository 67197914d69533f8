import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { sharedServer } from "@scrollback/conformance/servers";
import { describe, expect, test } from "vitest";
import { createDynamoStores } from "../src/index.ts";
import { tableDefinition } from "../src/setup.ts";
import { definition, policy, resources, shell, template } from "./docs.ts";
import { openGateway, refusal } from "./gateway.ts";
import { user } from "./messages.ts";
import { permissionFor } from "./requests.ts";
import { clientOf, makeTable, newTableName, urlOf } from "./table.ts";

const server = sharedServer("dynamodb");

describe("the documented table", () => {
  test("is the one that setup creates, in each form", () => {
    const made = tableDefinition("chats");
    expect(definition).toEqual(made);
    const { TimeToLiveSpecification, ...properties } = template.Resources.Chats.Properties;
    expect(properties).toEqual(made);
    expect(TimeToLiveSpecification).toEqual({ AttributeName: "x", Enabled: true });
    const list = (elements: object[]) =>
      elements
        .map((element) =>
          Object.entries(element)
            .map(([key, value]) => `${key}=${value}`)
            .join(","),
        )
        .join(" ");
    const [index] = made.GlobalSecondaryIndexes;
    const keys = index?.KeySchema.map(
      ({ AttributeName, KeyType }) => `{AttributeName=${AttributeName},KeyType=${KeyType}}`,
    );
    const line = shell.replaceAll(/\s*\\\n\s*/g, " ");
    expect(line).toContain(
      `create-table --table-name ${made.TableName} --billing-mode ${made.BillingMode} --attribute-definitions ${list(made.AttributeDefinitions)} --key-schema ${list(made.KeySchema)} --global-secondary-indexes 'IndexName=${index?.IndexName},KeySchema=[${keys}],Projection={ProjectionType=${index?.Projection.ProjectionType}}'\n`,
    );
    expect(line).toContain(
      `update-time-to-live --table-name ${made.TableName} --time-to-live-specification Enabled=true,AttributeName=x\n`,
    );
  });

  test("works without setup", async () => {
    const client = clientOf((await server).url);
    const tableName = newTableName();
    await client.send(new CreateTableCommand({ ...definition, TableName: tableName }));
    await using stores = createDynamoStores({ client, tableName, ttlMs: 60_000 });
    const store = stores.open();
    await store.addMessages([user("1")]);
    expect(await store.listMessages()).toEqual([user("1")]);
    client.destroy();
  });
});

describe("the documented policy", () => {
  test("allows every operation of the stores by its first two statements", async () => {
    await using table = await makeTable((await server).url);
    await using gateway = await openGateway((await server).url);
    gateway.answer = (action) =>
      policy.Use?.includes(permissionFor(action))
        ? undefined
        : refusal("AccessDeniedException", `not ${action}`);
    await using stores = createDynamoStores({
      url: table.urlBy(gateway.url),
      maxMessages: 20,
      ttlMs: 60_000,
    });
    const store = stores.open();
    for (let commit = 0; commit < 100; commit++) await store.addMessages([user(String(commit))]);
    await store.addMessages([user("x".repeat(1_000_000))]);
    await store.commit({ drop: 1, metadata: "title" });
    await store.popMessage();
    expect(await store.listMessages()).toHaveLength(18);
    await store.replaceMessages([user("new")]);
    await store.clear();
    expect((await stores.listThreads()).threads).toHaveLength(1);
    await stores.deleteThread(store.threadId);
    expect(new Set(gateway.seen.map(permissionFor))).toEqual(new Set(policy.Use));
    await stores.setup();
  });

  test("is for the table, and for queries of its index", () => {
    const [table] = resources.Use ?? [];
    expect(table).toMatch(/:table\/chats$/);
    const [{ IndexName } = {}] = tableDefinition("chats").GlobalSecondaryIndexes;
    expect(resources).toEqual({ Use: [table], List: [`${table}/index/${IndexName}`], SetUp: [table] });
    expect(policy.List).toEqual(["Query"]);
  });

  test("allows setup to create the table by both statements, and includes no unused permission", async () => {
    await using gateway = await openGateway((await server).url);
    const allowed = [...(policy.Use ?? []), ...(policy.SetUp ?? [])];
    gateway.answer = (action) =>
      allowed.includes(permissionFor(action)) ? undefined : refusal("AccessDeniedException");
    await using stores = createDynamoStores({ url: urlOf(newTableName(), gateway.url) });
    await stores.setup();
    expect(new Set(gateway.seen.map(permissionFor))).toEqual(new Set(allowed));
  });
});
