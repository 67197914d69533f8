import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { afterAll, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { users } from "./messages.ts";
import { rejection } from "./rejection.ts";

const client = await PGlite.create({ extensions: { vector } });
afterAll(() => client.close());

const damages = [
  "sort = 'zz'",
  "sort = 'fff0000000000000' || substr(sort, 17)",
  "expires_at = 'infinity'",
  "value = 'x'",
];

test.each(damages)("an entry with %s is reported alone, on each page", async (damage) => {
  const schema = `s ${damage.slice(0, 20)}`;
  const stores = createPostgresStores({ client, schema });
  await stores.setup();
  await client.exec("CREATE EXTENSION IF NOT EXISTS vector");
  const index = stores.index("i");
  for (let id = 1; id <= 5; id++)
    await index.insert({ key: "k", id: `${id}` }, { version: 1, order: id, value: id, vectors: [[1, 0]] });
  await client.exec(`UPDATE "${schema}".entries SET ${damage} WHERE id = '3'`);
  const listed = async (direction: "up" | "down", limit: number) => {
    const found: Record<string, unknown> = {};
    for (let cursor: string | undefined, pages = 0; pages < 7; pages++) {
      const page = await index.list({ direction, limit, ...(cursor !== undefined && { cursor }) });
      for (const { id, value, problem } of page.entries) found[id] = problem?.code ?? value;
      cursor = page.cursor;
      if (cursor === undefined) return found;
    }
    return expect.unreachable("the list does not end");
  };
  const all = { 1: 1, 2: 2, 3: "CORRUPT", 4: 4, 5: 5 };
  for (const limit of [1, 2, 100])
    for (const direction of ["up", "down"] as const) expect(await listed(direction, limit)).toEqual(all);
  const found = (entries: readonly { id: string; value: unknown; problem?: { code: string } }[]) =>
    Object.fromEntries(entries.map(({ id, value, problem }) => [id, problem?.code ?? value]));
  expect(found(await index.entriesOf("k"))).toEqual(all);
  expect(found(await index.nearest([1, 0]))).toMatchObject({ 1: 1, 2: 2, 4: 4, 5: 5 });
});

test("a thread with an impossible expiry is CORRUPT, and hides no other from the list", async () => {
  const stores = createPostgresStores({ client, schema: "threads" });
  await stores.setup();
  for (const id of ["a", "b", "c"]) await stores.open(id).addMessages(users(1));
  await client.exec("UPDATE threads.threads SET expires_at = 'infinity' WHERE id = 'b'");
  expect((await rejection(stores.open("b").read())).code).toBe("CORRUPT");
  expect((await stores.listThreads()).threads.map(({ threadId }) => threadId)).toEqual(["a", "b", "c"]);
});
