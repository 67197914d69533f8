import { createStores, MemoryDriver, systemClock } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { systemSessionClock } from "../src/clock.ts";
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
    return new SessionService({ stores, clock: { ...systemSessionClock, wall } });
  };
  const threadIds = async () =>
    (await createStores(driver).listThreads({ limit: 1_000 })).threads.map(({ threadId }) => threadId);
  return { time, of, threadIds };
}

/** A service with `ttlMs` of a day, and so many sessions that their list has leaves, 20 hours later. */
async function setUpLeaves() {
  const { time, of, threadIds } = setUp();
  const sessions = of(DAY);
  for (let n = 0; n < 400; n++) {
    time.now += 10;
    await sessions.createSession({ ...user, sessionId: `s${n}` });
  }
  await sessions.flush();
  time.now += 20 * HOUR;
  return { time, sessions, threadIds };
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

test("a session in a leaf is listed for as long as it lives, although no other session of the leaf does", async () => {
  const { time, sessions } = await setUpLeaves();
  await sessions.updateSession({ ...user, sessionId: "s5", title: "T" });
  await sessions.createSession({ ...user, sessionId: "new" });
  await sessions.flush();
  time.now += 20 * HOUR;
  expect((await ids(sessions)).sort()).toEqual(["new", "s5"]);
});

test("deleteUser completes when leaves of the list have expired", async () => {
  const { time, sessions, threadIds } = await setUpLeaves();
  await sessions.createSession({ ...user, sessionId: "new", state: { "user:email": "ada@example.com" } });
  await sessions.flush();
  time.now += 5 * HOUR;
  await sessions.deleteUser(user);
  expect(await sessions.getUserState(user)).toEqual({});
  time.now += 30 * DAY;
  expect(await threadIds()).toEqual([]);
});

test("nothing of expired sessions stays after deleteUser, also without ttlMs", async () => {
  const { time, of, threadIds } = setUp();
  const brief = of(HOUR);
  for (let n = 0; n < 5; n++) await brief.createSession({ ...user, sessionId: `s${n}` });
  await brief.flush();
  time.now += HOUR + 60_000;
  await of().deleteUser(user);
  time.now += 30 * DAY;
  const left = await threadIds();
  expect(left.filter((id) => id.startsWith("sessions:session:"))).toEqual([]);
});
