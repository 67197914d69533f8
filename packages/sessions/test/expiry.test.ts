import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { systemClock } from "@scrollback/store-core/internal";
import { expect, test } from "vitest";
import { SessionService } from "../src/index.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const user = { appName: "app", userId: "ada" };

function setUp() {
  const time = { now: 1_800_000_000_000 };
  const wall = () => time.now;
  const driver = new MemoryDriver({ clock: { wall } });
  const of = (ttlMs?: number) => {
    const stores = createStores(driver, ttlMs === undefined ? {} : { ttlMs }, {
      clock: { ...systemClock, wall },
    });
    return new SessionService({ stores, clock: { ...systemClock, wall } });
  };
  const threadIds = async () =>
    (await createStores(driver).listThreads({ limit: 1_000 })).threads.map(({ threadId }) => threadId);
  const indexes = async () => [...(await createStores(driver).listIndexes()).names].sort();
  return { time, of, threadIds, indexes };
}

const ids = async (sessions: SessionService) =>
  (await sessions.listSessions({ ...user, limit: 100 })).sessions.map(({ id }) => id);

test("a session is listed for as long as it lives, also if only its title or an event of the same time was written", async () => {
  const { time, of } = setUp();
  const sessions = of(30 * DAY);
  await sessions.createSession({ ...user, sessionId: "titled" });
  const session = await sessions.createSession({ ...user, sessionId: "same time" });
  await sessions.flush();
  time.now += 29 * DAY;
  await sessions.updateSession({ ...user, sessionId: "titled", title: "T" });
  const timestamp = session.lastUpdateTime;
  await sessions.appendEvent({ session, event: { id: "e", author: "user", timestamp, content: "Hi" } });
  await sessions.flush();
  time.now += 2 * DAY;
  expect((await ids(sessions)).sort()).toEqual(["same time", "titled"]);
  await sessions.deleteUser(user);
  expect(await sessions.getSession({ ...user, sessionId: "titled" })).toBeUndefined();
});

test("deleteUser completes beside expired sessions, and what others left expires too", async () => {
  const { time, of, threadIds, indexes } = setUp();
  const sessions = of(DAY);
  for (let n = 0; n < 20; n++) await sessions.createSession({ ...user, sessionId: `s${n}` });
  await sessions.createSession({ ...user, userId: "bob" });
  time.now += 20 * HOUR;
  await sessions.createSession({ ...user, sessionId: "new", state: { "user:email": "ada@example.com" } });
  time.now += 5 * HOUR;
  await sessions.deleteUser(user);
  expect(await sessions.getUserState(user)).toEqual({});
  expect(await indexes()).toEqual(["sessions:of-app:app", "sessions:of-user:app:bob"]);
  time.now += 30 * DAY;
  expect(await threadIds()).toEqual([]);
  expect(await indexes()).toEqual([]);
});

test("nothing of expired sessions stays after deleteUser, also without ttlMs", async () => {
  const { time, of, threadIds, indexes } = setUp();
  const brief = of(HOUR);
  for (let n = 0; n < 5; n++) await brief.createSession({ ...user, sessionId: `s${n}` });
  await brief.flush();
  time.now += HOUR + 60_000;
  await of().deleteUser(user);
  time.now += 30 * DAY;
  expect(await threadIds()).toEqual([]);
  expect(await indexes()).toEqual([]);
});
