import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { afterAll, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { rejection } from "./rejection.ts";

// One for both tests: to make one takes seconds on a busy machine.
const client = await PGlite.create({ extensions: { vector } });
afterAll(() => client.close());
const stores = createPostgresStores({ client });
await stores.setup();
const index = stores.index("notes");

const place = { key: "a", id: "1" };
const content = { version: 1, order: 0, value: "A" };

test("without pgvector entries keep vectors, and a search says what to create; afterwards it finds them", async () => {
  await index.insert(place, { ...content, vectors: [[0, 2]] });
  const error = await rejection(index.nearest([1, 1]));
  expect(error.code).toBe("UNSUPPORTED");
  expect(error.message).toContain("CREATE EXTENSION vector");
  expect((await index.list()).entries).toEqual([{ ...place, ...content }]);
  await client.exec("CREATE EXTENSION vector");
  expect(await index.nearest([1, 1])).toEqual([
    { ...place, ...content, score: expect.closeTo(Math.SQRT1_2, 5) },
  ]);
  // No read but the search has them.
  const { rows } = await client.query<{ name: string; source: string }>(
    "SELECT proname AS name, prosrc AS source FROM pg_proc WHERE pronamespace = 'scrollback'::regnamespace",
  );
  const naming = rows.filter(({ source }) => /vectors|e\.\*/.test(source)).map(({ name }) => name);
  expect(naming.sort()).toEqual(["insert_entry_v1", "nearest_entries_v1", "update_entry_v1"]);
});

test("pgvector may be in any schema", async () => {
  await index.insert({ ...place, id: "2" }, { ...content, vectors: [[0, 2]] });
  await client.exec(
    `DROP EXTENSION IF EXISTS vector; CREATE SCHEMA "it's"; CREATE EXTENSION vector SCHEMA "it's"`,
  );
  expect((await index.nearest([1, 1])).map(({ id }) => id)).toContain("2");
});
