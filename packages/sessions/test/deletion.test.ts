import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { SessionService } from "../src/index.ts";
import { threads } from "../src/threads.ts";

const ada = { appName: "app", userId: "ada" };

async function threadsIn(stores: StoreFactory, prefix = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { threadId } of stores.iterateThreads({ prefix })) found.push(threadId);
  return found;
}

/** All entries of all indexes. */
async function entriesIn(stores: StoreFactory) {
  const { names } = await stores.listIndexes();
  const lists = await Promise.all(names.map((name) => stores.index(name).list()));
  return lists.flatMap(({ entries }) => entries);
}

test("a deleted user leaves no thread, and no text or id in the lists of the app", async () => {
  const stores = createMemoryStores();
  const service = new SessionService({ stores });
  for (let n = 0; n < 300; n++)
    await service.createSession({
      ...ada,
      sessionId: `s${n}`,
      title: "A secret",
      state: { "user:x": "A secret" },
    });
  await service.createSession({ appName: "app", userId: "bob", sessionId: "of bob" });
  await service.deleteUser(ada);
  const left = await threadsIn(stores);
  const pages = await Promise.all(left.map((threadId) => stores.open(threadId).read()));
  const entries = await entriesIn(stores);
  const atRest = JSON.stringify([left, pages, entries]);
  for (const text of ["secret", '"ada"', ":ada", "s299"]) expect(atRest).not.toContain(text);
  const { sessions } = await service.listSessions({ appName: "app" });
  expect(sessions.map(({ id }) => id)).toEqual(["of bob"]);
  expect(entries).toHaveLength(2);
});

test("each session that is created while its user is deleted is listed or deleted", async () => {
  const stores = createMemoryStores();
  const [creating, deleting] = [new SessionService({ stores }), new SessionService({ stores })];
  for (let round = 0; round < 50; round++) {
    for (let n = 0; n < 3; n++) await creating.createSession({ ...ada, sessionId: `old-${n}` });
    const created = Array.from({ length: 5 }, async (_, n) => {
      for (let turn = 0; turn < round % 20; turn++) await Promise.resolve();
      await creating.createSession({ ...ada, sessionId: `new-${round}-${n}` });
    });
    await Promise.all([deleting.deleteUser(ada), ...created]);
    const { sessions } = await deleting.listSessions({ ...ada, limit: 100 });
    const prefix = threads.session("app", "ada", "");
    expect((await threadsIn(stores, prefix)).sort()).toEqual(
      sessions.map(({ id }) => threads.session("app", "ada", id)).sort(),
    );
    await deleting.deleteUser(ada);
  }
  await creating.flush();
});
