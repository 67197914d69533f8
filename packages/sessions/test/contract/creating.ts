import { expect } from "vitest";
import { type Declare, event, storeError } from "./values.ts";

export function creating(promise: Declare): void {
  promise(
    "create: a session has its names, its state, no events, and a time in seconds",
    async ({ sessions, appName, userId }) => {
      const before = Date.now() / 1_000;
      const session = await sessions.createSession({ appName, userId, sessionId: "s", state: { a: 1 } });
      expect(session).toMatchObject({ id: "s", appName, userId, state: { a: 1 }, events: [] });
      expect(session.lastUpdateTime).toBeGreaterThanOrEqual(before - 60);
      expect(session.lastUpdateTime).toBeLessThanOrEqual(Date.now() / 1_000 + 60);
      expect(await sessions.getSession({ appName, userId, sessionId: "s" })).toEqual(session);
    },
  );

  promise(
    "create: the initial state is split by scope, and temporary keys are on the live session only",
    async ({ sessions, connect, appName, userId }) => {
      const state = { own: 1, "app:theme": "dark", "user:language": "nl", "temp:draft": "x" };
      const session = await sessions.createSession({ appName, userId, sessionId: "s", state });
      expect(session.state).toEqual(state);
      const reader = connect();
      const read = await reader.getSession({ appName, userId, sessionId: "s" });
      expect(read?.state).toEqual({ own: 1, "app:theme": "dark", "user:language": "nl" });
      expect(await reader.getAppState({ appName })).toEqual({ theme: "dark" });
      expect(await reader.getUserState({ appName, userId })).toEqual({ language: "nl" });
      const next = await reader.createSession({ appName, userId });
      expect(next.state).toEqual({ "app:theme": "dark", "user:language": "nl" });
      const stranger = await reader.createSession({ appName, userId: "another" });
      expect(stranger.state).toEqual({ "app:theme": "dark" });
    },
  );

  promise("create: a missing or blank id becomes a new UUID v7", async ({ sessions, appName, userId }) => {
    const ids = new Set<string>();
    for (const sessionId of [undefined, "", "  ", "\n\t"]) {
      const { id } = await sessions.createSession({ appName, userId, sessionId });
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
      ids.add(id);
    }
    expect(ids.size).toBe(4);
  });

  promise(
    "create: white space around an id is ignored, in create, get, append and delete",
    async ({ sessions, appName, userId }) => {
      const { id } = await sessions.createSession({ appName, userId, sessionId: "  my session\t" });
      expect(id).toBe("my session");
      const read = await sessions.getSession({ appName, userId, sessionId: "\nmy session " });
      expect(read?.id).toBe("my session");
      if (read)
        await sessions.appendEvent({ session: { ...read, id: " my session " }, event: event({ id: "one" }) });
      expect((await sessions.getSession({ appName, userId, sessionId: id }))?.events).toHaveLength(1);
      await expect(
        sessions.createSession({ appName, userId, sessionId: "my session " }),
      ).rejects.toMatchObject(storeError("CONFLICT"));
      await sessions.deleteSession({ appName, userId, sessionId: " my session  " });
      expect(await sessions.getSession({ appName, userId, sessionId: id })).toBeUndefined();
    },
  );

  promise(
    "create: an existing id fails with CONFLICT (already exists), and nothing changes",
    async ({ sessions, connect, appName, userId }) => {
      const state = { a: 1, "app:x": 1, "user:x": 1 };
      await sessions.createSession({ appName, userId, sessionId: "s", state });
      const again = { appName, userId, sessionId: "s", state: { a: 2, "app:x": 2, "user:x": 2 } };
      for (const service of [sessions, connect()]) {
        await expect(service.createSession(again)).rejects.toMatchObject(
          storeError("CONFLICT", /already exists/),
        );
        expect((await service.getSession({ appName, userId, sessionId: "s" }))?.state).toEqual(state);
      }
      expect((await sessions.listSessions({ appName })).sessions).toHaveLength(1);
    },
  );

  promise(
    "create: exactly one of several concurrent creations of a session succeeds",
    async ({ connect, appName, userId }) => {
      for (let round = 0; round < 5; round++) {
        const sessionId = `race-${round}`;
        const racers = Array.from({ length: 4 }, (_, racer) =>
          connect().createSession({ appName, userId, sessionId, state: { racer, [`app:${round}`]: racer } }),
        );
        const outcomes = await Promise.allSettled(racers);
        const winners = outcomes.filter((outcome) => outcome.status === "fulfilled");
        expect(winners).toHaveLength(1);
        for (const outcome of outcomes) {
          if (outcome.status === "rejected")
            expect(outcome.reason).toMatchObject(storeError("CONFLICT", /already exists/));
        }
        const read = await connect().getSession({ appName, userId, sessionId });
        expect(read?.state).toEqual(winners[0]?.value.state);
      }
    },
  );

  promise(
    "create: later changes of arguments and results do not change the stored session",
    async ({ sessions, appName, userId }) => {
      const state = { list: [1] };
      const session = await sessions.createSession({ appName, userId, sessionId: "s", state });
      state.list.push(2);
      (session.state.list as number[]).push(3);
      session.state.more = true;
      await sessions.appendEvent({ session, event: event() });
      expect((await sessions.getSession({ appName, userId, sessionId: "s" }))?.state).toEqual({ list: [1] });
    },
  );

  promise(
    "getOrCreate: returns the existing session or creates it; many concurrent calls create one",
    async ({ connect, appName, userId }) => {
      const given = await Promise.all(
        Array.from({ length: 6 }, (_, maker) =>
          connect().getOrCreateSession({
            appName,
            userId,
            sessionId: " s ",
            state: { maker, "user:maker": maker },
          }),
        ),
      );
      const [first] = given;
      for (const session of given) expect(session.state.maker).toBe(first?.state.maker);
      expect(given.map(({ id }) => id)).toEqual(Array(6).fill("s"));
      const sessions = connect();
      expect((await sessions.listSessions({ appName, userId })).sessions).toHaveLength(1);
      expect(await sessions.getUserState({ appName, userId })).toEqual({ maker: first?.state.maker });
      expect((await sessions.getOrCreateSession({ appName, userId })).id).not.toBe("s");
    },
  );
}
