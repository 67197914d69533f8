import { expect } from "vitest";
import type { Session } from "../../src/session.ts";
import { copyOfSession, type Declare, event, idsOf, setting, storeError } from "./values.ts";

export function appending(promise: Declare): void {
  promise(
    "append: returns the event and updates the given session object",
    async ({ sessions, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s", state: { kept: 1 } });
      const one = setting({ own: 1, "app:a": 2, "user:u": 3, "temp:t": 4 }, { timestamp: 77.5 });
      expect(await sessions.appendEvent({ session, event: one })).toBe(one);
      expect(session.state).toEqual({ kept: 1, own: 1, "app:a": 2, "user:u": 3, "temp:t": 4 });
      expect(idsOf(session.events)).toEqual([one.id]);
      expect(session.lastUpdateTime).toBe(77.5);
      const read = await sessions.getSession({ appName, userId, sessionId: "s" });
      expect(read?.state).toEqual({ kept: 1, own: 1, "app:a": 2, "user:u": 3 });
      expect(read?.lastUpdateTime).toBe(77.5);
      expect(read?.revision).toBe(session.revision);
    },
  );

  promise(
    "append: a partial event is returned, and neither stored nor shown",
    async ({ sessions, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const before = copyOfSession(session);
      const piece = setting({ own: 1, "app:a": 1 }, { partial: true });
      expect(await sessions.appendEvent({ session, event: piece })).toBe(piece);
      expect(session).toEqual(before);
      expect(await sessions.getSession({ appName, userId, sessionId: "s" })).toEqual(before);
      expect(await sessions.getAppState({ appName })).toEqual({});
      const whole = event({ partial: false });
      await sessions.appendEvent({ session, event: whole });
      expect((await sessions.getSession({ appName, userId, sessionId: "s" }))?.events).toEqual([whole]);
    },
  );

  promise(
    "append: temporary keys are stored neither in the state nor in the event",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      await sessions.appendEvent({ session, event: setting({ "temp:secret": "hunter2", own: 1 }) });
      expect(session.state["temp:secret"]).toBe("hunter2");
      const read = await connect().getSession({ appName, userId, sessionId: "s" });
      expect(JSON.stringify(read)).not.toContain("hunter2");
      expect(read?.events[0]?.actions?.stateDelta).toEqual({ own: 1 });
    },
  );

  promise(
    "append: accepts a copy of a session made with JSON or structuredClone, and does not write back its content",
    async ({ sessions, connect, appName, userId }) => {
      const state = { when: new Date(7), own: 1 };
      let session: Session = await sessions.createSession({ appName, userId, sessionId: "s", state });
      for (const [n, service] of [sessions, connect(), connect()].entries()) {
        session = n % 2 === 0 ? JSON.parse(JSON.stringify(session)) : structuredClone(session);
        session.state.own = "changed by hand";
        await service.appendEvent({ session, event: setting({ [`n${n}`]: n }) });
      }
      const read = await sessions.getSession({ appName, userId, sessionId: "s" });
      expect(read?.state).toStrictEqual({ ...state, n0: 0, n1: 1, n2: 2 });
      expect(read?.events).toHaveLength(3);
    },
  );

  promise(
    "append: the same event again is a no-op, through any copy of the session and any service",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const fresh = copyOfSession(session);
      const one = setting({ count: 1, "app:count": 1, "user:count": 1, when: new Date(3) });
      await sessions.appendEvent({ session, event: one });
      await sessions.appendEvent({ session, event: one });
      await sessions.appendEvent({ session: fresh, event: structuredClone(one) });
      await sessions.appendEvent({ session, event: setting({ count: 2, "app:count": 2, "user:count": 2 }) });
      const again: Session = JSON.parse(JSON.stringify(session));
      expect(await connect().appendEvent({ session: again, event: one })).toBe(one);
      const read = await connect().getSession({ appName, userId, sessionId: "s" });
      expect(read?.events).toHaveLength(2);
      expect(read?.state).toEqual({ count: 2, "app:count": 2, "user:count": 2, when: new Date(3) });
    },
  );

  promise(
    "append: the same event through a stale session is a no-op, and the session object is updated",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const stale = copyOfSession(session);
      const one = setting({ count: 1, "app:count": 1 });
      await sessions.appendEvent({ session, event: one });
      for (let n = 2; n < 90; n++)
        await sessions.appendEvent({ session, event: setting({ count: n, "app:count": n }) });
      await connect().appendEvent({ session: stale, event: one });
      expect(stale).toEqual(session);
      expect((await sessions.getSession({ appName, userId, sessionId: "s" }))?.events).toHaveLength(89);
      expect(await sessions.getAppState({ appName })).toEqual({ count: 89 });
    },
  );

  promise(
    "append: another event with a used id is rejected, and nothing changes",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const empty = copyOfSession(session);
      const one = setting({ a: 1 }, { id: "one" });
      await sessions.appendEvent({ session, event: one });
      for (const service of [sessions, connect({ staleWriter: "reload" })]) {
        for (const through of [session, empty]) {
          const other = setting({ a: 2, "app:x": 1 }, { id: "one", timestamp: one.timestamp });
          await expect(
            service.appendEvent({ session: copyOfSession(through), event: other }),
          ).rejects.toMatchObject(storeError("CONFLICT", /one/));
        }
      }
      const read = await sessions.getSession({ appName, userId, sessionId: "s" });
      expect(read?.events).toEqual([one]);
      expect(read?.state).toEqual({ a: 1 });
      await sessions.appendEvent({ session, event: event({ id: "two" }) });
    },
  );

  promise(
    "append: a stale session fails with CONFLICT (stale) and changes nothing",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const other = connect();
      const stale = await other.getSession({ appName, userId, sessionId: "s" });
      if (!stale) throw new Error("it was created");
      await sessions.appendEvent({ session, event: event({ timestamp: 1 }) });
      const before = copyOfSession(stale);
      for (const service of [other, sessions]) {
        await expect(
          service.appendEvent({ session: stale, event: setting({ a: 1, "app:a": 1 }) }),
        ).rejects.toMatchObject(storeError("CONFLICT", /stale/));
      }
      expect(stale).toEqual(before);
      expect(await other.getSession({ appName, userId, sessionId: "s" })).toEqual(session);
      expect(await other.getAppState({ appName })).toEqual({});
      const newest = await other.getSession({ appName, userId, sessionId: "s" });
      if (newest) await other.appendEvent({ session: newest, event: event() });
    },
  );

  promise(
    "append: with staleWriter reload the event is appended after the newest, and the session object is updated",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s", state: { a: 0 } });
      const stale = copyOfSession(session);
      stale.state["temp:mine"] = 1;
      await sessions.appendEvent({ session, event: setting({ a: 1, b: 1, "user:u": 1 }, { id: "one" }) });
      await sessions.appendEvent({ session, event: setting({ c: 1 }, { id: "two" }) });
      await connect({ staleWriter: "reload" }).appendEvent({
        session: stale,
        event: setting({ a: 3 }, { id: "three" }),
      });
      expect(idsOf(stale.events)).toEqual(["one", "two", "three"]);
      expect(stale.state).toEqual({ a: 3, b: 1, c: 1, "user:u": 1, "temp:mine": 1 });
      const read = await sessions.getSession({ appName, userId, sessionId: "s" });
      expect(idsOf(read?.events)).toEqual(["one", "two", "three"]);
      expect(read?.state).toEqual({ a: 3, b: 1, c: 1, "user:u": 1 });
      expect(read?.revision).toBe(stale.revision);
    },
  );

  promise(
    "append: exactly one of two concurrent stale writers wins, independent of their timestamps",
    async ({ connect, appName, userId }) => {
      for (let round = 0; round < 5; round++) {
        const sessionId = `s${round}`;
        const created = await connect().createSession({ appName, userId, sessionId });
        const outcomes = await Promise.allSettled(
          [5, 1, 9].map((timestamp) =>
            connect().appendEvent({ session: copyOfSession(created), event: event({ timestamp }) }),
          ),
        );
        expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        const read = await connect().getSession({ appName, userId, sessionId });
        expect(read?.events).toHaveLength(1);
      }
    },
  );

  promise(
    "append: to a missing or deleted session fails with NOT_FOUND and creates nothing",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const never = { ...copyOfSession(session), id: "never" };
      await sessions.deleteSession({ appName, userId, sessionId: "s" });
      for (const service of [sessions, connect(), connect({ staleWriter: "reload" })]) {
        for (const gone of [session, never]) {
          await expect(
            service.appendEvent({ session: gone, event: setting({ a: 1, "app:a": 1, "user:a": 1 }) }),
          ).rejects.toMatchObject(storeError("NOT_FOUND"));
          expect(await service.getSession({ appName, userId, sessionId: gone.id })).toBeUndefined();
        }
      }
      expect(await sessions.getAppState({ appName })).toEqual({});
      expect(await sessions.getUserState({ appName, userId })).toEqual({});
      expect((await sessions.listSessions({ appName })).sessions).toEqual([]);
    },
  );
}
