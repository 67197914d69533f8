import { afterAll, describe, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { startPooled } from "./pgbouncer.ts";
import { newSchemaName } from "./schema.ts";

describe.each([0, 100])("behind PgBouncer in transaction mode, with max_prepared_statements = %i", (most) => {
  const pooler = startPooled(`max_prepared_statements = ${most}`);
  afterAll(async () => (await pooler).stop());

  test("clients that take turns on few connections, on two schemas, all succeed", async () => {
    const { url } = await pooler;
    const schemas = [newSchemaName(), newSchemaName()];
    const clients = Array.from({ length: 12 }, (_, index) =>
      createPostgresStores({ url, schema: schemas[index % 2] ?? "", maxMessages: 10 }),
    );
    await Promise.all(clients.map((stores) => stores.setup()));
    const write = async (stores: (typeof clients)[number], index: number) => {
      for (let number = 1; number <= 40; number++)
        await stores.open(`own ${index}`).addMessages([user(`${index} ${number}`)]);
      await stores.open("shared").addMessages([user(`${index % 2}`)]);
      return await stores.open(`own ${index}`).listMessages();
    };
    const kept = await Promise.all(clients.map(write));
    for (const [index, messages] of kept.entries())
      expect(messages).toEqual(Array.from({ length: 10 }, (_, at) => user(`${index} ${31 + at}`)));
    for (const [index, stores] of clients.entries()) {
      expect(await stores.open("shared").listMessages()).toEqual(Array(6).fill(user(`${index % 2}`)));
      await stores.close();
    }
  });

  test("a URL in listen leads past it", async () => {
    const { url, direct } = await pooler;
    const schema = newSchemaName();
    await using stores = createPostgresStores({ url, schema, listen: direct });
    await stores.setup();
    const store = stores.open("a");
    await store.addMessages([user("1")]);
    let hints = 0;
    using _watch = stores.watch("a", () => hints++);
    await expect.poll(() => hints).toBe(1);
    await store.addMessages([user("2")]);
    await expect.poll(() => hints).toBe(2);
  });
});
