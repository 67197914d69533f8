import { expect } from "vitest";
import type { SessionService } from "../../src/session-service.ts";
import { copyOfSession, type Declare, event, setting, storeError } from "./values.ts";

const WRITERS = 8;
const EACH = 6;

export function sharing(promise: Declare): void {
  promise(
    "concurrency: many writers of one session and its app and user state lose no event and no delta",
    async ({ connect, appName, userId }) => {
      const created = await connect().createSession({ appName, userId, sessionId: "s" });
      const writers = Array.from({ length: WRITERS }, async (_, writer) => {
        const service = connect({ staleWriter: "reload" });
        const session = copyOfSession(created);
        for (let n = 0; n < EACH; n++) {
          const key = `${writer}-${n}`;
          const delta = { [key]: n, [`app:${key}`]: n, [`user:${key}`]: n };
          await service.appendEvent({ session, event: setting(delta, { id: key }) });
        }
      });
      await Promise.all(writers);
      const read = await connect().getSession({ appName, userId, sessionId: "s" });
      const ids = read?.events.map(({ id }) => id) ?? [];
      expect(ids).toHaveLength(WRITERS * EACH);
      expect(new Set(ids).size).toBe(WRITERS * EACH);
      expect(Object.keys(read?.state ?? {})).toHaveLength(3 * WRITERS * EACH);
      for (let writer = 0; writer < WRITERS; writer++) {
        const own = ids.filter((id) => id.startsWith(`${writer}-`));
        expect(own).toEqual(Array.from({ length: EACH }, (_, n) => `${writer}-${n}`));
      }
    },
  );

  promise(
    "concurrency: many writers of different sessions lose no delta of the app and the user",
    async ({ connect, appName, userId }) => {
      const writers = Array.from({ length: WRITERS }, async (_, writer) => {
        const service = connect();
        const session = await service.createSession({
          appName,
          userId,
          state: { [`app:made-${writer}`]: true },
        });
        for (let n = 0; n < EACH; n++) {
          const delta = { [`app:${writer}`]: n, [`user:${writer}`]: n, "app:last": writer };
          await service.appendEvent({ session, event: setting(delta) });
        }
      });
      await Promise.all(writers);
      const app = await connect().getAppState({ appName });
      const user = await connect().getUserState({ appName, userId });
      for (let writer = 0; writer < WRITERS; writer++) {
        expect(app[String(writer)]).toBe(EACH - 1);
        expect(app[`made-${writer}`]).toBe(true);
        expect(user[String(writer)]).toBe(EACH - 1);
      }
      expect((await connect().listSessions({ appName, userId, limit: 100 })).sessions).toHaveLength(WRITERS);
    },
  );

  promise("concurrency: the later value is kept, from any service", async ({ connect, appName, userId }) => {
    const [one, two] = [connect(), connect()];
    const first = await one.createSession({ appName, userId });
    const second = await two.createSession({ appName, userId });
    for (let n = 0; n < 6; n++) {
      const [service, session] = n % 2 === 0 ? [one, first] : [two, second];
      await service.appendEvent({
        session,
        event: setting({ "app:n": n, "user:n": n }, { timestamp: 100 - n }),
      });
      expect(await connect().getAppState({ appName })).toEqual({ n });
      expect(await connect().getUserState({ appName, userId })).toEqual({ n });
    }
  });

  promise("isolation: names with any characters never access other data", async ({ sessions, appName }) => {
    const names = [
      "a",
      "a:b",
      "b",
      "b:c",
      "a%3Ab",
      "%",
      "#",
      "/",
      "{x}",
      "*",
      "a\0b",
      " ",
      "é",
      "e\u0301",
      "😀",
      "__proto__",
      "..",
      "A",
    ];
    const long = ["x".repeat(900), `${"x".repeat(899)}y`, "é".repeat(450)];
    const keys = [...names, ...long].flatMap((name) => [
      { appName: `${appName}${name}`, userId: "u", sessionId: "s" },
      { appName, userId: name, sessionId: "s" },
      ...(name.trim() === name ? [{ appName, userId: "u", sessionId: name }] : []),
    ]);
    keys.push(
      { appName: `${appName}:x`, userId: "y", sessionId: "z" },
      { appName, userId: "x:y", sessionId: "z" },
      { appName, userId: "x", sessionId: "y:z" },
    );
    await Promise.all(
      keys.map((key, n) =>
        sessions.createSession({ ...key, state: { n, [`app:${n}`]: n, [`user:${n}`]: n } }),
      ),
    );
    const own = async (service: SessionService, n: number) => {
      const key = keys[n];
      const read = key && (await service.getSession(key));
      expect(read).toMatchObject({ id: key?.sessionId, appName: key?.appName, userId: key?.userId });
      expect(read?.state.n).toBe(n);
      const shared = Object.keys(read?.state ?? {}).filter((name) => name !== "n");
      const expected = keys.flatMap((other, m) => [
        ...(other.appName === key?.appName ? [`app:${m}`] : []),
        ...(other.appName === key?.appName && other.userId === key?.userId ? [`user:${m}`] : []),
      ]);
      expect(shared.sort()).toEqual(expected.sort());
    };
    for (let n = 0; n < keys.length; n++) await own(sessions, n);
    const listed = await sessions.listSessions({ appName, userId: "x" });
    expect(listed.sessions.map(({ id }) => id)).toEqual(
      keys.filter((key) => key.appName === appName && key.userId === "x").map((key) => key.sessionId),
    );
  });

  promise(
    "arguments: an invalid argument fails with INVALID_ARGUMENT, and the error names it",
    async ({ sessions, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const key = { appName, userId, sessionId: "s" };
      const invalid: [() => Promise<unknown>, RegExp][] = [
        [() => sessions.createSession({ appName: "", userId }), /appName/],
        [() => sessions.createSession({ appName, userId: "" }), /userId/],
        [() => sessions.createSession({ appName, userId: "\ud800" }), /userId/],
        [() => sessions.createSession({ appName, userId, state: [] as never }), /state/],
        [() => sessions.createSession({ appName, userId, states: {} } as never), /states/],
        [() => sessions.createSession(undefined as never), /createSession/],
        [() => sessions.getOrCreateSession({ userId } as never), /appName/],
        [() => sessions.getSession({ ...key, sessionId: " " }), /sessionId/],
        [() => sessions.getSession({ appName, userId } as never), /sessionId/],
        [() => sessions.getSession({ ...key, sessionId: "x".repeat(1_025) }), /sessionId/],
        [() => sessions.getSession({ ...key, config: { numRecentEvents: -1 } }), /numRecentEvents/],
        [() => sessions.getSession({ ...key, config: { numRecentEvents: 1.5 } }), /numRecentEvents/],
        [() => sessions.getSession({ ...key, config: { afterTimestamp: Number.NaN } }), /afterTimestamp/],
        [() => sessions.getSession({ ...key, config: { newest: 3 } as never }), /newest/],
        [() => sessions.listSessions({ appName, limit: 0 }), /limit/],
        [() => sessions.listSessions({ appName, limit: 101 }), /limit/],
        [() => sessions.listSessions({ appName, order: "up" as never }), /order/],
        [() => sessions.listSessions({ appName, pageToken: "none" }), /pageToken/],
        [() => sessions.listSessions({ appName, userId: "" }), /userId/],
        [() => sessions.deleteSession({ ...key, sessionId: "" }), /sessionId/],
        [() => sessions.deleteUser({ ...key, userId: "" }), /userId/],
        [() => sessions.getUserState({ appName } as never), /userId/],
        [() => sessions.getAppState({} as never), /appName/],
        [() => sessions.appendEvent({ session } as never), /event/],
        [() => sessions.appendEvent({ event: event() } as never), /session/],
        [() => sessions.appendEvent({ session, event: event({ id: "" }) }), /event\.id/],
        [() => sessions.appendEvent({ session, event: event({ timestamp: Number.NaN }) }), /timestamp/],
        [() => sessions.appendEvent({ session, event: event({ author: 1 as never }) }), /author/],
        [() => sessions.appendEvent({ session, event: event({ partial: "yes" as never }) }), /partial/],
        [() => sessions.appendEvent({ session, event: setting([] as never) }), /stateDelta/],
        [() => sessions.appendEvent({ session: { ...session, revision: "x" }, event: event() }), /revision/],
      ];
      for (const [call, name] of invalid)
        await expect(call()).rejects.toMatchObject(storeError("INVALID_ARGUMENT", name));
      expect(await sessions.getSession(key)).toEqual(session);
    },
  );
}
