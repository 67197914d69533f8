import { DatabaseSync } from "node:sqlite";
import { StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { expect, onTestFinished, test } from "vitest";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";
import { SessionService } from "../src/index.ts";
import { threads } from "../src/threads.ts";
import { event, setting } from "./contract/values.ts";

const app = { appName: "app" };
const ada = { ...app, userId: "ada" };
const bob = { ...app, userId: "bob" };
const of = (threadId: string) => `thread = (SELECT key FROM scrollback_threads WHERE id = '${threadId}')`;

/** Damage to the session "b" of ada, or to a state. */
const session = of(threads.session("app", "ada", "b"));
const damages: Record<string, string> = {
  "its state is damaged": `UPDATE scrollback_metadata SET text = '{"tit' WHERE ${session}`,
  "its state has a newer version": `UPDATE scrollback_metadata SET text = '{"version":2}' WHERE ${session}`,
  "its state is gone": `DELETE FROM scrollback_metadata WHERE ${session}`,
  "its commits are gone": `DELETE FROM scrollback_commits WHERE ${session}`,
  "an event is null": `UPDATE scrollback_messages SET text = 'null' WHERE ${session} AND sequence = 1`,
  "an event has no value": `UPDATE scrollback_messages SET text = '{"role":"user","content":"","metadata":null}' WHERE ${session} AND sequence = 1`,
  "its events are gone": `DELETE FROM scrollback_messages WHERE ${session}`,
  "the user's state is damaged": `UPDATE scrollback_metadata SET text = '{"tit' WHERE ${of(threads.user("app", "ada"))}`,
  "the user's state has a newer version": `UPDATE scrollback_metadata SET text = '{"version":2}' WHERE ${of(threads.user("app", "ada"))}`,
  "the user's state is gone": `DELETE FROM scrollback_metadata WHERE ${of(threads.user("app", "ada"))}`,
  "the app's state is damaged": `UPDATE scrollback_metadata SET text = '{"tit' WHERE ${of(threads.app("app"))}`,
};

/** Sessions a, b and c of ada, and one of bob. */
async function damaged(sql: string, onCorruptRecord?: (error: StoreError) => void) {
  const client = new DatabaseSync(":memory:");
  onTestFinished(() => client.close());
  const first = new SessionService({ stores: createSqliteStores({ client }) });
  for (const sessionId of ["a", "b", "c"]) {
    const made = await first.createSession({ ...ada, sessionId, state: { own: "secret" } });
    await first.appendEvent({ session: made, event: event() });
    await first.appendEvent({ session: made, event: setting({ "user:u": "secret", "app:a": 1 }) });
  }
  await first.createSession({ ...bob, sessionId: "b" });
  await first.flush();
  client.exec(sql);
  const sessions = new SessionService({
    stores: createSqliteStores({ client, ...(onCorruptRecord && { onCorruptRecord }) }),
  });
  const left = (id: string) =>
    client.prepare("SELECT id FROM scrollback_threads WHERE instr(id, ?)").all(id).length;
  return { sessions, left };
}

for (const [what, sql] of Object.entries(damages)) {
  for (const onCorruptRecord of [undefined, () => undefined]) {
    const where = `${what}${onCorruptRecord ? ", with onCorruptRecord" : ""}`;
    test(`a session is deleted if ${where}`, async () => {
      const { sessions, left } = await damaged(sql, onCorruptRecord);
      await sessions.deleteSession({ ...ada, sessionId: "b" });
      expect(left(threads.session("app", "ada", "b"))).toBe(0);
      await sessions.flush();
    });

    test(`deleteUser leaves nothing of the user if ${where}`, async () => {
      const { sessions, left } = await damaged(sql, onCorruptRecord);
      await sessions.deleteUser(ada);
      expect(left(":ada")).toBe(0);
      expect(left(":bob")).toBeGreaterThan(0);
      await sessions.flush();
    });
  }
}

test("a damaged session, and the sessions of a user whose state is damaged, do not hide those of others", async () => {
  const idsOf = (list: readonly { userId: string; id?: string; sessionId?: string }[] = []) =>
    list.map(({ userId, id, sessionId }) => `${userId}:${id ?? sessionId}`).sort();
  for (const onCorruptRecord of [undefined, () => undefined]) {
    for (const [what, code] of [
      ["its state is damaged", "CORRUPT"],
      ["its state has a newer version", "UNSUPPORTED"],
      ["its state is gone", "CORRUPT"],
      ["its commits are gone", "CORRUPT"],
    ] as const) {
      const { sessions } = await damaged(damages[what] ?? "", onCorruptRecord);
      for (const request of [app, ada]) {
        const page = await sessions.listSessions(request);
        expect(idsOf(page.sessions), what).toEqual(
          request === app ? ["ada:a", "ada:c", "bob:b"] : ["ada:a", "ada:c"],
        );
        expect(idsOf(page.unreadable), what).toEqual(["ada:b"]);
      }
      await expect(sessions.getSession({ ...ada, sessionId: "b" })).rejects.toMatchObject({ code });
      // The old events are not given to a new session.
      await expect(sessions.createSession({ ...ada, sessionId: "b" })).rejects.toMatchObject({ code });
    }
    for (const [what, code] of [
      ["the user's state is damaged", "CORRUPT"],
      ["the user's state has a newer version", "UNSUPPORTED"],
      ["the user's state is gone", "CORRUPT"],
    ] as const) {
      const { sessions } = await damaged(damages[what] ?? "", onCorruptRecord);
      const page = await sessions.listSessions(app);
      expect(idsOf(page.sessions), what).toEqual(["bob:b"]);
      expect(idsOf(page.unreadable), what).toEqual(["ada:a", "ada:b", "ada:c"]);
      await expect(sessions.listSessions(ada)).rejects.toMatchObject({ code });
      // A write does not replace a state that it cannot read.
      await expect(sessions.getUserState(ada)).rejects.toMatchObject({ code });
      const request = { ...ada, sessionId: "d", state: { "user:x": 1 } };
      await expect(sessions.createSession(request)).rejects.toMatchObject({ code });
    }
  }
});

test.each(["an event is null", "an event has no value"])("the place is named if %s", async (what) => {
  const { sessions } = await damaged(damages[what] ?? "");
  await expect(sessions.getSession({ ...ada, sessionId: "b" })).rejects.toMatchObject({
    code: "CORRUPT",
    sequence: 1,
    message: expect.stringContaining('message 1 of thread "sessions:session:app:ada:b"'),
  });
});

/** A database that is full: only commits that add nothing, and deletions, succeed. */
class FullDriver extends MemoryDriver {
  isFull = false;

  override async commit(request: Parameters<MemoryDriver["commit"]>[0]) {
    const adds = request.append.length > 0 || typeof request.metadata === "string";
    if (this.isFull && adds) throw new StoreError("UNAVAILABLE", "no memory left");
    return await super.commit(request);
  }

  override readonly index = wrappedIndex(new MemoryDriver().index, async (verb, run) => {
    if (this.isFull && (verb === "insertEntry" || verb === "updateEntry"))
      throw new StoreError("UNAVAILABLE", "no memory left");
    return await run();
  });
}

test("sessions are deleted although the database is full", async () => {
  const driver = new FullDriver();
  const stores = createStores(driver);
  const first = new SessionService({ stores });
  for (const sessionId of ["a", "b", "c"])
    await first.createSession({ ...ada, sessionId, state: { "user:u": "secret", own: "secret" } });
  await first.flush();
  driver.isFull = true;
  const sessions = new SessionService({ stores });
  const left = async () => {
    const pages = [threads.session("app", "ada", ""), threads.user("app", "ada")].map(
      async (prefix) => (await stores.listThreads({ prefix })).threads.length,
    );
    return await Promise.all(pages);
  };
  await sessions.deleteSession({ ...ada, sessionId: "a" });
  expect(await left()).toEqual([2, 1]);
  await sessions.deleteUser(ada);
  expect(await left()).toEqual([0, 0]);
  expect(await sessions.listSessions(app)).toEqual({ sessions: [] });
});
