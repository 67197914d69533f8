import { setTimeout as sleep } from "node:timers/promises";
import { createStores, MemoryDriver } from "@scrollback/store-core";
import { expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { withoutChance } from "../../../conformance-tests/test/fixtures/without-chance.ts";
import { setting } from "../src/contract/values.ts";
import { SessionService } from "../src/index.ts";

const key = { appName: "app", userId: "ada", sessionId: "s" };
const threadsOf = {
  session: "sessions:session:app:ada:s",
  app: "sessions:app:app",
  user: "sessions:user:app:ada",
};

withoutChance();

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

test("a page of a large directory reads one thread for each of its sessions, and a few more", async () => {
  vi.restoreAllMocks();
  const { driver, sessions } = watch();
  for (let n = 0; n < 1_000; n++) await sessions.createSession({ appName: "app", userId: `user-${n % 3}` });
  await sessions.flush();
  const { watched, sessions: reader } = watch(driver);
  expect((await reader.listSessions({ appName: "app" })).sessions).toHaveLength(20);
  const ofSessions = watched.reads.filter(({ threadId }) => threadId.startsWith("sessions:session:"));
  expect(ofSessions).toHaveLength(20);
  // The directory, one or two of its leaves, the app, and three users.
  expect(watched.reads.length - ofSessions.length).toBeLessThanOrEqual(7);
  expect(watched.commits).toEqual([]);
});

test("all appends together write notes to the directories at most once per second", async () => {
  const { watched, sessions } = watch();
  const session = await sessions.createSession(key);
  watched.reset();
  const start = performance.now();
  for (let n = 0; n < 40; n++) {
    await sessions.appendEvent({ session, event: setting({ n }) });
    await sleep(3);
  }
  const seconds = Math.floor((performance.now() - start) / 1_000);
  await sessions.flush();
  const notes = watched.commits.filter((threadId) => threadId.startsWith("sessions:directory"));
  // The flush writes to the app's and the user's directory; each second of the test on a busy machine adds two notes.
  expect(notes.length).toBeGreaterThanOrEqual(2);
  expect(notes.length).toBeLessThanOrEqual(2 * (1 + seconds));
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
  expect([...watched.commits, ...watched.reads]).toEqual([]);
});
