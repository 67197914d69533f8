import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { SessionService } from "../src/index.ts";
import { setting } from "./contract/values.ts";

const key = { appName: "app", userId: "ada", sessionId: "s" };
const threadsOf = {
  session: "sessions:session:app:ada:s",
  app: "sessions:app:app",
  user: "sessions:user:app:ada",
};
const indexes = ["sessions:of-app:app", "sessions:of-user:app:ada"];
const both = (verb: string) => indexes.map((index) => `${verb} ${index}`);

function watch(driver = new MemoryDriver()) {
  const watched = new WatchedDriver(driver);
  return { watched, driver, sessions: new SessionService({ stores: createStores(watched) }) };
}

test("an append is one commit, and one more each for the app and the user state it sets", async () => {
  const { watched, sessions } = watch();
  const session = await sessions.createSession(key);
  const costs: [Record<string, unknown>, string[]][] = [
    [{}, []],
    [{ own: 1, "temp:t": 1 }, []],
    [{ own: 2, "app:a": 1 }, [threadsOf.app]],
    [{ "user:u": 1 }, [threadsOf.user]],
    [{ own: 3, "app:a": 2, "user:u": 2 }, [threadsOf.app, threadsOf.user]],
  ];
  for (let round = 0; round < 3; round++) {
    for (const [delta, others] of costs) {
      watched.reset();
      await sessions.appendEvent({ session, event: setting(delta) });
      expect(watched.commits).toEqual([threadsOf.session, ...others]);
      expect(watched.reads).toEqual([]);
    }
  }
});

test("an append through a session that another process has read costs the same after one more read", async () => {
  const { driver, sessions } = watch();
  const session = await sessions.createSession(key);
  await sessions.appendEvent({ session, event: setting({ own: 1 }) });
  const other = watch(driver);
  await other.sessions.appendEvent({ session, event: setting({ own: 2 }) });
  expect(other.watched.commits).toEqual([threadsOf.session]);
  expect(other.watched.reads).toHaveLength(1);
  other.watched.reset();
  await other.sessions.appendEvent({ session, event: setting({ own: 3 }) });
  expect(other.watched.commits).toEqual([threadsOf.session]);
  expect(other.watched.reads).toEqual([]);
});

test("the cost of an append is independent of existing events and of other sessions", async () => {
  const { watched, sessions } = watch();
  const session = await sessions.createSession(key);
  for (let n = 0; n < 300; n++)
    await sessions.createSession({ appName: "app", userId: n % 2 ? "ada" : "bob" });
  for (let n = 0; n < 300; n++) await sessions.appendEvent({ session, event: setting({ n, "app:n": n }) });
  await sessions.flush();
  watched.reset();
  await sessions.appendEvent({ session, event: setting({ own: 1, "app:n": 0 }) });
  expect(watched.commits).toEqual([threadsOf.session, threadsOf.app]);
  expect(watched.reads).toEqual([]);
});

test("a get is three concurrent reads, which load only the requested newest events", async () => {
  const { driver, sessions } = watch();
  const session = await sessions.createSession(key);
  for (let n = 0; n < 50; n++)
    await sessions.appendEvent({ session, event: setting({ n, "app:n": n, "user:n": n }) });
  for (const numRecentEvents of [undefined, 20, 0]) {
    const { watched, sessions: reader } = watch(driver);
    const got = reader.getSession({ ...key, config: { numRecentEvents } });
    // All reads are sent before the first reply.
    expect(watched.reads).toHaveLength(3);
    expect((await got)?.events).toHaveLength(numRecentEvents ?? 50);
    expect(watched.commits).toEqual([]);
    const limits = Object.fromEntries(watched.reads.map(({ threadId, limit }) => [threadId, limit]));
    expect(limits).toEqual({
      [threadsOf.session]: numRecentEvents ?? Number.POSITIVE_INFINITY,
      [threadsOf.app]: 0,
      [threadsOf.user]: 0,
    });
  }
});

test("a creation is two entries, one commit and the two entries again, and reads the states of app and user", async () => {
  const { watched, sessions } = watch();
  await sessions.createSession(key);
  expect(watched.entries).toEqual([...both("insertEntry"), ...both("updateEntry")]);
  expect(watched.commits).toEqual([threadsOf.session]);
  expect(watched.reads.map(({ threadId }) => threadId)).toEqual([threadsOf.app, threadsOf.user]);
});

test("a page of 20 of 1,000 sessions is one request, then all at once one read of each session, of the app and of each user", async () => {
  const { driver, sessions } = watch();
  for (let n = 0; n < 1_000; n++) await sessions.createSession({ appName: "app", userId: `user-${n % 3}` });
  const { watched, sessions: reader } = watch(driver);
  expect((await reader.listSessions({ appName: "app" })).sessions).toHaveLength(20);
  expect(watched.entries).toEqual(["listEntries sessions:of-app:app"]);
  expect(watched.reads).toHaveLength(20 + 1 + 3);
  expect(watched.commits).toEqual([]);
});

test("all appends and updates of a second together write two entries for each session", async () => {
  const { watched, sessions } = watch();
  const session = await sessions.createSession(key);
  watched.reset();
  for (let n = 0; n < 40; n++) await sessions.appendEvent({ session, event: setting({ n }) });
  await sessions.updateSession({ ...key, title: "Rome" });
  expect(watched.entries).toEqual([]);
  await sessions.flush();
  expect(watched.entries).toEqual(both("updateEntry"));
});

test("a process that reads a session writes its entries once, in the background", async () => {
  const { driver, sessions } = watch();
  await sessions.createSession(key);
  const { watched, sessions: reader } = watch(driver);
  for (let round = 0; round < 3; round++) {
    await reader.getSession(key);
    await reader.flush();
  }
  expect(watched.entries).toEqual(both("updateEntry"));
});

test("a deletion reads the session once, and is five writes", async () => {
  const { watched, sessions } = watch();
  await sessions.createSession(key);
  watched.reset();
  await sessions.deleteSession(key);
  expect(watched.entries).toEqual([...both("updateEntry"), ...both("removeEntry")]);
  expect(watched.deletions).toEqual([threadsOf.session]);
  expect(watched.reads).toHaveLength(1);
  expect(watched.commits).toEqual([]);
});

test("invalid arguments and partial events send no request", async () => {
  const { watched, sessions } = watch();
  const session = await sessions.createSession(key);
  watched.reset();
  const invalid = [
    sessions.createSession({ appName: "", userId: "ada" }),
    sessions.getSession({ ...key, config: { numRecentEvents: -1 } }),
    sessions.listSessions({ appName: "app", limit: 101 }),
    sessions.listSessions({ appName: "app", pageToken: "x" }),
    sessions.deleteSession({ ...key, sessionId: " " }),
    sessions.appendEvent({ session, event: setting({ own: () => 1 }) }),
    sessions.appendEvent({ session: { ...session, revision: "1" }, event: setting({}) }),
  ];
  for (const call of invalid) await expect(call).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await sessions.appendEvent({ session, event: setting({ own: 1 }, { partial: true }) });
  expect([...watched.commits, ...watched.reads, ...watched.entries]).toEqual([]);
});
