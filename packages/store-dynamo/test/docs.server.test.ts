import { sharedServer } from "@scrollback/conformance/servers";
import { describe, expect, test } from "vitest";
import { ORDER_INDEX } from "../src/entries.ts";
import { createDynamoStores } from "../src/index.ts";
import { THREAD_INDEX } from "../src/item.ts";
import { entriesDefinition, tableDefinition } from "../src/setup.ts";
import { policy, resources, template } from "./docs.ts";
import { openGateway, refusal } from "./gateway.ts";
import { user } from "./messages.ts";
import { permissionsFor } from "./requests.ts";
import { makeTable, newTableName, urlOf } from "./table.ts";

const server = sharedServer("dynamodb");

describe("the documented tables", () => {
  test("are those that setup creates", () => {
    const { Chats, Entries } = template.Resources;
    for (const [{ Properties }, made] of [
      [Chats, tableDefinition("chats")],
      [Entries, entriesDefinition("chats")],
    ] as const) {
      const { TimeToLiveSpecification, ...properties } = Properties;
      expect(properties).toEqual(made);
      expect(TimeToLiveSpecification).toEqual({ AttributeName: "x", Enabled: true });
    }
  });
});

describe("the documented policy", () => {
  test("allows every operation of the stores by all statements but the last", async () => {
    await using table = await makeTable((await server).url);
    await using gateway = await openGateway((await server).url);
    const allowed = [...(policy.Use ?? []), ...(policy.Entries ?? [])];
    gateway.answer = (action) =>
      permissionsFor(action).every((permission) => allowed.includes(permission))
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
    expect(new Set(gateway.seen.flatMap(permissionsFor))).toEqual(new Set(policy.Use));
    gateway.seen.length = 0;
    const [index, place] = [stores.index("a"), { key: "k", id: "1" }];
    await index.insert(place, { version: 0, order: 1, value: 1 });
    await index.update(place, { version: 1, order: 1, value: 1 });
    expect((await index.list()).entries).toEqual(await index.entriesOf("k"));
    expect((await stores.listIndexes()).names).toEqual(["a"]);
    await index.remove(place);
    expect(new Set(gateway.seen)).toEqual(new Set(policy.Entries));
    await stores.setup();
  });

  test("is for the tables, and for queries of their indexes", () => {
    const [table] = resources.Use ?? [];
    expect(table).toMatch(/:table\/chats$/);
    const entries = `${table}-entries`;
    expect(resources).toEqual({
      Use: [table],
      List: [`${table}/index/${THREAD_INDEX}`, `${entries}/index/${ORDER_INDEX}`],
      Entries: [entries],
      SetUp: [table, entries],
    });
    expect(policy.List).toEqual(["Query"]);
  });

  test("allows setup to create the tables by all statements, and includes no unused permission", async () => {
    await using gateway = await openGateway((await server).url);
    const allowed = [...(policy.Use ?? []), ...(policy.Entries ?? []), ...(policy.SetUp ?? [])];
    gateway.answer = (action) =>
      permissionsFor(action).every((permission) => allowed.includes(permission))
        ? undefined
        : refusal("AccessDeniedException");
    await using stores = createDynamoStores({ url: urlOf(newTableName(), gateway.url) });
    await stores.setup();
    // Setup lists nothing.
    const unused = ["Scan", "BatchGetItem"];
    expect(new Set([...gateway.seen.flatMap(permissionsFor), ...unused])).toEqual(new Set(allowed));
  });
});
