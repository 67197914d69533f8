import { expect } from "vitest";
import { copyOfSession, type Declare, event, idsOf, setting, storeError } from "./values.ts";

export function updating(promise: Declare): void {
  promise(
    "update: sets the title and the state of every scope, without an event",
    async ({ sessions, connect, appName, userId }) => {
      const key = { appName, userId, sessionId: "s" };
      const created = await sessions.createSession({ ...key, state: { kept: 1, own: 1 } });
      expect(created.title).toBeUndefined();
      await sessions.appendEvent({ session: created, event: event({ id: "one", timestamp: 7 }) });
      const state = { own: 2, "app:a": 3, "user:u": null, "temp:t": 4 };
      const updated = await connect().updateSession({ ...key, title: "Rome", state });
      expect(updated).toMatchObject({ id: "s", title: "Rome", state: { kept: 1, ...state }, events: [] });
      const read = await sessions.getSession(key);
      expect(read).toMatchObject({ title: "Rome", lastUpdateTime: 7, revision: updated.revision });
      expect(read?.state).toEqual({ kept: 1, own: 2, "app:a": 3, "user:u": null });
      expect(idsOf(read?.events)).toEqual(["one"]);
      expect(await sessions.getAppState({ appName })).toEqual({ a: 3 });
      expect(await sessions.getUserState({ appName, userId })).toEqual({ u: null });
    },
  );

  promise(
    "update: omitted fields are kept, and null removes the title",
    async ({ sessions, connect, appName, userId }) => {
      const key = { appName, userId, sessionId: "s" };
      const session = await sessions.createSession({ ...key, title: "First", state: { own: 1 } });
      expect(session.title).toBe("First");
      await sessions.updateSession({ ...key, state: { own: 2 } });
      await sessions.updateSession({ ...key, title: "Second" });
      await sessions.appendEvent({ session, event: setting({ other: 3 }) });
      expect(session).toMatchObject({ title: "Second", state: { own: 2, other: 3 } });
      expect(await connect().getSession(key)).toMatchObject({
        title: "Second",
        state: { own: 2, other: 3 },
      });
      const [listed] = (await connect().listSessions({ appName })).sessions;
      expect(listed?.title).toBe("Second");
      expect(await sessions.updateSession({ ...key, title: null })).not.toHaveProperty("title");
      expect(await connect().getSession(key)).not.toHaveProperty("title");
      await sessions.appendEvent({ session, event: event() });
      expect(session).not.toHaveProperty("title");
    },
  );

  promise(
    "update: does not make a session stale, nor move it in lists",
    async ({ sessions, connect, appName, userId }) => {
      const key = { appName, userId, sessionId: "s" };
      const session = await sessions.createSession(key);
      await sessions.appendEvent({ session, event: event({ timestamp: 1 }) });
      const other = await sessions.createSession({ appName, userId, sessionId: "t" });
      await sessions.appendEvent({ session: other, event: event({ timestamp: 2 }) });
      await connect().updateSession({ ...key, title: "Rome", state: { own: 1, "app:a": 1 } });
      await sessions.flush();
      const { sessions: listed } = await connect().listSessions({ appName });
      expect(listed.map(({ id }) => id)).toEqual(["t", "s"]);
      await sessions.appendEvent({ session, event: event({ id: "next" }) });
      expect(session).toMatchObject({ title: "Rome", state: { own: 1, "app:a": 1 } });
      expect(await connect().getSession(key)).toEqual(session);
    },
  );

  promise("update: concurrent updates and appends lose nothing", async ({ connect, appName, userId }) => {
    const key = { appName, userId, sessionId: "s" };
    const created = await connect().createSession(key);
    const numbers = [0, 1, 2, 3, 4, 5];
    const deltaOf = (name: string) => ({ [name]: 1, [`app:${name}`]: 1, [`user:${name}`]: 1 });
    await Promise.all([
      ...numbers.map((n) => connect().updateSession({ ...key, state: deltaOf(`update-${n}`) })),
      ...numbers.map((n) =>
        connect({ staleWriter: "reload" }).appendEvent({
          session: copyOfSession(created),
          event: setting(deltaOf(`append-${n}`)),
        }),
      ),
    ]);
    const read = await connect().getSession(key);
    expect(read?.events).toHaveLength(numbers.length);
    expect(Object.keys(read?.state ?? {})).toHaveLength(2 * 3 * numbers.length);
  });

  promise(
    "update: fails with NOT_FOUND for a missing session and INVALID_ARGUMENT for invalid arguments, and changes nothing",
    async ({ sessions, appName, userId }) => {
      const key = { appName, userId, sessionId: "s" };
      await expect(
        sessions.updateSession({ ...key, title: "Rome", state: { "app:a": 1 } }),
      ).rejects.toMatchObject(storeError("NOT_FOUND"));
      expect(await sessions.getSession(key)).toBeUndefined();
      expect(await sessions.getAppState({ appName })).toEqual({});
      await sessions.createSession({ ...key, title: "Rome" });
      const before = await sessions.getSession(key);
      const invalid: [object, RegExp][] = [
        [{ title: "" }, /title/],
        [{ title: "x".repeat(1_025) }, /title/],
        [{ title: 7 }, /title/],
        [{ state: [] }, /state/],
        [{ state: { a: () => 1 } }, /state/],
        [{ name: "Rome" }, /name/],
        [{ sessionId: " " }, /sessionId/],
      ];
      for (const [fields, name] of invalid) {
        await expect(sessions.updateSession({ ...key, ...fields })).rejects.toMatchObject(
          storeError("INVALID_ARGUMENT", name),
        );
      }
      await expect(sessions.createSession({ appName, userId, title: "" })).rejects.toMatchObject(
        storeError("INVALID_ARGUMENT", /title/),
      );
      const large = "x".repeat(300_000);
      for (const state of [{ own: large }, { "app:a": large }, { "user:u": large }]) {
        await expect(sessions.updateSession({ ...key, state })).rejects.toMatchObject(
          storeError("TOO_LARGE", /updateSession/),
        );
      }
      expect(await sessions.getSession(key)).toEqual(before);
    },
  );
}
