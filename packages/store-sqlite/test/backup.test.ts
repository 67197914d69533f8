import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

test("after a restore, lost revisions and cursors can be repeated; copies of the threads have none of them", async () => {
  const backup = `${scratch.path}.backup`;
  const live = createSqliteStores({ url: scratch.url });
  await live.open("a").addMessages([user("before the backup")]);
  const client = new DatabaseSync(scratch.path);
  client.exec(`VACUUM INTO '${backup}'`);
  client.close();
  const lost = await live.open("a").addMessages([user("lost")]);
  const { newer = "" } = await live.open("a").read();
  await live.close();

  await using restored = createSqliteStores({ url: `sqlite:${backup}` });
  await using fresh = createSqliteStores({ url: "sqlite::memory:" });
  const store = restored.open("a");
  expect(await store.addMessages([user("after the restore")])).toBe(lost);
  expect((await store.read({ after: newer })).entries).toEqual([]);
  await restored.copyThread("a", "a", { target: fresh });
  expect(await store.commit({ drop: 1 }, { expectedRevision: lost }), "it is accepted").not.toBeNull();

  const copy = fresh.open("a");
  expect(await failure(copy.commit({ drop: 1 }, { expectedRevision: lost }))).toMatchObject({
    code: "CONFLICT",
  });
  const seen = (await copy.read({ after: newer })).entries.map(({ message }) => message.content);
  expect(seen, "read from the beginning").toEqual(["before the backup", "after the restore"]);
});
