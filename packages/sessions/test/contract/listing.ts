import { setImmediate as otherEvents } from "node:timers/promises";
import { expect } from "vitest";
import type { ListSessionsRequest } from "../../src/session.ts";
import type { SessionService } from "../../src/session-service.ts";
import { type Declare, event, setting } from "./values.ts";

/** Creates sessions whose last update is at the given times. */
async function make(
  sessions: SessionService,
  appName: string,
  userId: string,
  times: Record<string, number>,
) {
  for (const [sessionId, timestamp] of Object.entries(times)) {
    const session = await sessions.createSession({ appName, userId, sessionId });
    await sessions.appendEvent({ session, event: event({ timestamp }) });
  }
  // Other services see the order within a second otherwise.
  await sessions.flush();
}

/** The ids of all pages. */
async function pages(sessions: SessionService, request: ListSessionsRequest): Promise<string[][]> {
  const found: string[][] = [];
  let pageToken: string | undefined;
  do {
    const page = await sessions.listSessions({ ...request, pageToken });
    found.push(page.sessions.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return found;
}

export function listing(promise: Declare): void {
  promise(
    "list: oldest update first, ties by id, or exactly the reverse; also from another service",
    async ({ sessions, connect, appName, userId }) => {
      await make(sessions, appName, userId, { b: 30, d: 10, a: 30, c: 40.5, e: 30 });
      for (const service of [sessions, connect()]) {
        expect(await pages(service, { appName, userId })).toEqual([["c", "e", "b", "a", "d"]]);
        expect(await pages(service, { appName, userId, order: "desc" })).toEqual([["c", "e", "b", "a", "d"]]);
        expect(await pages(service, { appName, userId, order: "asc" })).toEqual([["d", "a", "b", "e", "c"]]);
      }
    },
  );

  promise(
    "list: an update moves a session, in both directions: at once in its own service, after a flush in all",
    async ({ sessions, connect, appName, userId }) => {
      await make(sessions, appName, userId, { a: 1, b: 2, c: 3 });
      const session = await sessions.getSession({ appName, userId, sessionId: "a" });
      for (const [timestamp, order] of [
        [10, ["a", "c", "b"]],
        [2.5, ["c", "a", "b"]],
        [0, ["c", "b", "a"]],
      ] as const) {
        if (session) await sessions.appendEvent({ session, event: event({ timestamp }) });
        expect(await pages(sessions, { appName })).toEqual([order]);
        await sessions.flush();
        expect(await pages(connect(), { appName })).toEqual([order]);
        expect(await pages(connect(), { appName, userId })).toEqual([order]);
      }
    },
  );

  promise(
    "list: pages of 20 by default, or of any size up to 100, with a stable token",
    async ({ sessions, connect, appName, userId }) => {
      const times = Object.fromEntries(
        Array.from({ length: 45 }, (_, n) => [`s${String(n).padStart(2, "0")}`, 1_000 - (n >> 1)]),
      );
      const ofPair = (n: number) => `s${String(n ^ 1).padStart(2, "0")}`;
      await make(sessions, appName, userId, times);
      // The sessions of a pair have the same time.
      const ids = [...Array.from({ length: 44 }, (_, n) => ofPair(n)), "s44"];
      const sizes = async (limit?: number) =>
        (await pages(sessions, { appName, userId, limit })).map(({ length }) => length);
      expect(await sizes()).toEqual([20, 20, 5]);
      expect(await sizes(45)).toEqual([45]);
      expect(await sizes(15)).toEqual([15, 15, 15]);
      for (const limit of [1, 7, 44, 100]) {
        expect((await pages(connect(), { appName, limit })).flat()).toEqual(ids);
        const oldestFirst = (await pages(connect(), { appName, limit, order: "asc" })).flat();
        expect(oldestFirst).toEqual(ids.toReversed());
      }
      const first = await sessions.listSessions({ appName, limit: 10 });
      const again = async (service: SessionService) =>
        (await service.listSessions({ appName, limit: 10, pageToken: first.nextPageToken })).sessions.map(
          ({ id }) => id,
        );
      await make(sessions, appName, userId, { new: 9_999 });
      const top = await sessions.getSession({ appName, userId, sessionId: "s00" });
      if (top) await sessions.appendEvent({ session: top, event: event({ timestamp: 8_888 }) });
      await sessions.deleteSession({ appName, userId, sessionId: "s09" });
      await sessions.flush();
      expect(await again(sessions)).toEqual(ids.slice(10, 20));
      expect(await again(connect())).toEqual(ids.slice(10, 20));
    },
  );

  promise(
    "list: returns the merged state, the time, no events, and sessions that can be appended to",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({
        appName,
        userId,
        sessionId: "s",
        state: { own: 1, "app:a": 1 },
      });
      await sessions.appendEvent({
        session,
        event: setting({ own: 2, "user:u": 2, "temp:t": 1 }, { timestamp: 5 }),
      });
      await sessions.createSession({ appName, userId: "another", sessionId: "s", state: { "user:u": 3 } });
      const all = await connect().listSessions({ appName });
      const mine = all.sessions.find((one) => one.userId === userId);
      expect(mine).toEqual({ ...session, events: [], state: { own: 2, "app:a": 1, "user:u": 2 } });
      expect(all.sessions.find((one) => one.userId === "another")?.state).toEqual({
        "app:a": 1,
        "user:u": 3,
      });
      if (mine) await connect().appendEvent({ session: mine, event: event() });
      expect((await sessions.getSession({ appName, userId, sessionId: "s" }))?.events).toHaveLength(2);
    },
  );

  promise(
    "list: without a user the sessions of all users of the app, otherwise only that user's",
    async ({ sessions, appName }) => {
      await make(sessions, appName, "ada", { one: 1, two: 4 });
      await make(sessions, appName, "bob", { one: 3, three: 2 });
      await make(sessions, `${appName}-2`, "ada", { other: 9 });
      const of = async (userId?: string) =>
        (await sessions.listSessions({ appName, userId })).sessions.map((one) => `${one.userId} ${one.id}`);
      expect(await of()).toEqual(["ada two", "bob one", "bob three", "ada one"]);
      expect(await of("ada")).toEqual(["ada two", "ada one"]);
      expect(await of("bob")).toEqual(["bob one", "bob three"]);
      expect(await of("carol")).toEqual([]);
    },
  );

  promise(
    "delete: removes events and session state at once, twice is the same as once, and leaves app and user state",
    async ({ sessions, connect, appName, userId }) => {
      const state = { own: 1, "app:a": 1, "user:u": 1 };
      const session = await sessions.createSession({ appName, userId, sessionId: "s", state });
      await sessions.createSession({ appName, userId, sessionId: "t" });
      await sessions.appendEvent({ session, event: setting({ own: 2, "app:a": 2 }, { id: "one" }) });
      const other = connect();
      for (let round = 0; round < 2; round++) {
        await (round === 0 ? sessions : other).deleteSession({ appName, userId, sessionId: "s" });
        expect(await other.getSession({ appName, userId, sessionId: "s" })).toBeUndefined();
        expect((await other.listSessions({ appName, userId })).sessions.map(({ id }) => id)).toEqual(["t"]);
        expect((await other.listSessions({ appName })).sessions.map(({ id }) => id)).toEqual(["t"]);
      }
      await sessions.deleteSession({ appName, userId, sessionId: "never" });
      expect(await other.getAppState({ appName })).toEqual({ a: 2 });
      expect(await other.getUserState({ appName, userId })).toEqual({ u: 1 });
    },
  );

  promise(
    "delete: a user is deleted with all sessions and the user's state, and other users are not",
    async ({ sessions, connect, appName }) => {
      const state = { own: 1, "app:a": 1, "user:u": 1 };
      const of = (userId: string) => ({ appName, userId });
      for (let n = 0; n < 20; n++) await sessions.createSession({ ...of("ada"), sessionId: `s${n}`, state });
      await sessions.createSession({ ...of("bob"), sessionId: "s1", state });
      const other = connect();
      for (const service of [other, sessions]) {
        await service.deleteUser(of("ada"));
        for (const one of [sessions, other]) {
          expect(await one.getUserState(of("ada"))).toEqual({});
          expect((await one.listSessions(of("ada"))).sessions).toEqual([]);
          expect((await one.listSessions({ appName })).sessions.map(({ userId }) => userId)).toEqual(["bob"]);
          expect(await one.getSession({ ...of("ada"), sessionId: "s1" })).toBeUndefined();
          expect(await one.getUserState(of("bob"))).toEqual({ u: 1 });
          expect(await one.getAppState({ appName })).toEqual({ a: 1 });
        }
      }
      const again = await sessions.createSession({ ...of("ada"), sessionId: "s1", state: { "user:v": 2 } });
      expect(again.state).toEqual({ "app:a": 1, "user:v": 2 });
      expect((await other.listSessions(of("ada"))).sessions.map(({ id }) => id)).toEqual(["s1"]);
    },
  );

  promise(
    "delete: a user is deleted also after several services created one session at the same moment",
    async ({ sessions, connect, appName, userId }) => {
      for (let round = 0; round < 3; round++) {
        const key = { appName, userId, sessionId: `s${round}` };
        await Promise.allSettled([1, 2, 3].map(() => connect().createSession(key)));
      }
      expect((await sessions.listSessions({ appName, userId })).sessions).toHaveLength(3);
      await sessions.deleteUser({ appName, userId });
      for (const service of [sessions, connect()]) {
        expect(await service.listSessions({ appName })).toEqual({ sessions: [] });
        expect(await service.listSessions({ appName, userId })).toEqual({ sessions: [] });
      }
    },
  );

  promise(
    "delete: a user is deleted beside a service that appends and creates without a pause",
    async ({ sessions, connect, appName, userId }) => {
      const key = { appName, userId, sessionId: "busy" };
      const busy = connect();
      let isOver = false;
      const append = async () => {
        for (let session = await busy.getOrCreateSession(key); !isOver; ) {
          await otherEvents();
          const appended = busy.appendEvent({ session, event: setting({ "app:n": 1 }) });
          // It was deleted.
          await appended.catch(async () => {
            session = await busy.getOrCreateSession(key);
          });
        }
      };
      const create = async () => {
        while (!isOver) {
          await otherEvents();
          await busy.createSession({ appName, userId });
        }
      };
      const old = await Promise.all(
        ["a", "b"].map((sessionId) => sessions.createSession({ ...key, sessionId })),
      );
      const before = await busy.getOrCreateSession({ ...key, state: { isOld: true } });
      const writing = Promise.all([append(), append(), create()]);
      await sessions.deleteUser({ appName, userId }).finally(() => {
        isOver = true;
      });
      await writing;
      for (const { id } of old)
        expect(await sessions.getSession({ appName, userId, sessionId: id })).toBeUndefined();
      expect(before.state).toEqual({ isOld: true });
      expect((await sessions.getSession(key))?.state).not.toHaveProperty("isOld");
    },
  );

  promise(
    "delete: the id can be used again, for a session without data of the old one",
    async ({ sessions, connect, appName, userId }) => {
      const one = setting({ n: 1, "app:n": 1 }, { id: "one" });
      const old = await sessions.createSession({ appName, userId, sessionId: "s", state: { own: 1 } });
      await sessions.appendEvent({ session: old, event: one });
      for (let round = 0; round < 3; round++) {
        await sessions.deleteSession({ appName, userId, sessionId: "s" });
        const session = await connect().createSession({ appName, userId, sessionId: "s" });
        expect(session.events).toEqual([]);
        expect(session.state).toEqual({ "app:n": 1 });
        await sessions.appendEvent({ session, event: one });
        const read = await connect().getSession({ appName, userId, sessionId: "s" });
        expect(read?.events).toEqual([one]);
        expect(read?.state).toEqual({ n: 1, "app:n": 1 });
        expect((await connect().listSessions({ appName })).sessions).toHaveLength(1);
      }
      await expect(sessions.appendEvent({ session: old, event: event() })).rejects.toMatchObject({
        code: "CONFLICT",
      });
    },
  );
}
