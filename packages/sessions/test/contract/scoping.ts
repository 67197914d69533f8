import { expect } from "vitest";
import type { Values } from "../../src/state/scopes.ts";
import { type Declare, setting, storeError } from "./values.ts";

export function scoping(promise: Declare): void {
  promise(
    "state: app keys belong to all users of an app, user keys to one user across sessions, others to the session",
    async ({ sessions, connect, appName }) => {
      const of = (userId: string, sessionId: string) => ({ appName, userId, sessionId });
      const first = await sessions.createSession(of("ada", "one"));
      await sessions.createSession(of("ada", "two"));
      await sessions.createSession(of("bob", "three"));
      await sessions.createSession({ ...of("ada", "one"), appName: `${appName}-2` });
      await sessions.appendEvent({ session: first, event: setting({ "app:a": 1, "user:u": 2, s: 3 }) });
      const stateOf = async (userId: string, sessionId: string) =>
        (await connect().getSession(of(userId, sessionId)))?.state;
      expect(await stateOf("ada", "one")).toEqual({ "app:a": 1, "user:u": 2, s: 3 });
      expect(await stateOf("ada", "two")).toEqual({ "app:a": 1, "user:u": 2 });
      expect(await stateOf("bob", "three")).toEqual({ "app:a": 1 });
      const elsewhere = await sessions.getSession({ ...of("ada", "one"), appName: `${appName}-2` });
      expect(elsewhere?.state).toEqual({});
      expect(await sessions.getUserState({ appName, userId: "ada" })).toEqual({ u: 2 });
      expect(await sessions.getUserState({ appName, userId: "bob" })).toEqual({});
      expect(await sessions.getAppState({ appName })).toEqual({ a: 1 });
      expect(await sessions.getAppState({ appName: `${appName}-2` })).toEqual({});
    },
  );

  promise(
    "state: values are replaced, not merged; null and booleans are stored as they are",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const first: Values = {};
      const second: Values = {};
      for (const prefix of ["", "app:", "user:"]) {
        Object.assign(first, {
          [`${prefix}o`]: { a: 1, b: 2 },
          [`${prefix}l`]: [1, 2],
          [`${prefix}n`]: 1,
          [`${prefix}t`]: 1,
        });
        Object.assign(second, {
          [`${prefix}o`]: { b: 3 },
          [`${prefix}l`]: [3],
          [`${prefix}n`]: null,
          [`${prefix}t`]: false,
        });
      }
      await sessions.appendEvent({ session, event: setting(first) });
      await sessions.appendEvent({ session, event: setting(second) });
      expect(session.state).toStrictEqual(second);
      expect((await connect().getSession({ appName, userId, sessionId: "s" }))?.state).toStrictEqual(second);
    },
  );

  promise(
    "state: keys such as __proto__ and toString are ordinary, in every scope",
    async ({ sessions, connect, appName, userId }) => {
      const names = [
        "__proto__",
        "constructor",
        "toString",
        "hasOwnProperty",
        "",
        "a.b",
        "$set",
        "app",
        "user",
        ":",
      ];
      const delta: Values = Object.fromEntries(
        ["", "app:", "user:"].flatMap((prefix) =>
          names.map((name) => [`${prefix}${name}`, `value of ${prefix}${name}`]),
        ),
      );
      const session = await sessions.createSession({ appName, userId, sessionId: "s", state: delta });
      await sessions.appendEvent({ session, event: setting(delta) });
      for (const state of [
        session.state,
        (await connect().getSession({ appName, userId, sessionId: "s" }))?.state ?? {},
      ]) {
        expect(new Map(Object.entries(state))).toEqual(new Map(Object.entries(delta)));
        expect(Object.getPrototypeOf(state)).toBe(Object.prototype);
      }
      const app = await sessions.getAppState({ appName });
      expect(Object.keys(app).sort()).toEqual([...names].sort());
      expect(({} as Values)["value of __proto__"]).toBeUndefined();
    },
  );

  promise(
    "state: a value that cannot be stored fails with INVALID_ARGUMENT before any write",
    async ({ sessions, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      for (const bad of [() => 1, Symbol("x"), new (class Custom {})()]) {
        for (const key of ["own", "app:own", "user:own"]) {
          await expect(
            sessions.createSession({ appName, userId, sessionId: "t", state: { [key]: bad } }),
          ).rejects.toMatchObject(storeError("INVALID_ARGUMENT", /own/));
          await expect(
            sessions.appendEvent({ session, event: setting({ [key]: bad }) }),
          ).rejects.toMatchObject(storeError("INVALID_ARGUMENT", /own/));
        }
      }
      expect(await sessions.getSession({ appName, userId, sessionId: "t" })).toBeUndefined();
      expect(await sessions.getSession({ appName, userId, sessionId: "s" })).toEqual(session);
      expect(session.events).toEqual([]);
    },
  );

  promise(
    "state: a state that slowly grows over its limit fails with TOO_LARGE, and the event is not stored",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const half = "x".repeat(150_000);
      for (const prefix of ["", "app:", "user:"]) {
        await sessions.appendEvent({ session, event: setting({ [`${prefix}first`]: half }) });
        const before = await sessions.getSession({ appName, userId, sessionId: "s" });
        await expect(
          sessions.appendEvent({ session, event: setting({ [`${prefix}second`]: half }) }),
        ).rejects.toMatchObject(storeError("TOO_LARGE", /state/));
        expect(await connect().getSession({ appName, userId, sessionId: "s" })).toEqual(before);
        await sessions.appendEvent({ session, event: setting({ [`${prefix}first`]: null }) });
      }
    },
  );
}
