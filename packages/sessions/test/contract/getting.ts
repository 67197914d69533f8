import { expect } from "vitest";
import { type Declare, event, idsOf, setting } from "./values.ts";

export function getting(promise: Declare): void {
  promise(
    "get: returns the events in order and unchanged, including unknown fields and dates",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      const events = [
        event({ content: { parts: [{ text: "Hi" }] }, invocationId: "i-1", branch: "a.b" }),
        setting(
          { when: new Date(1_234), deep: { list: [new Date(5), null, false, 0, ""] } },
          { custom: { since: new Date(99) } },
        ),
        event({ timestamp: 3.25, bytes: new Uint8Array([1, 2]), absent: undefined }),
      ];
      for (const one of events) await sessions.appendEvent({ session, event: one });
      const read = await connect().getSession({ appName, userId, sessionId: "s" });
      expect(read?.events).toStrictEqual(events);
      expect(read?.state).toStrictEqual({
        when: new Date(1_234),
        deep: { list: [new Date(5), null, false, 0, ""] },
      });
      expect(read?.lastUpdateTime).toBe(3.25);
    },
  );

  promise(
    "get: numRecentEvents limits the newest events, 0 returns none; the state is complete",
    async ({ sessions, connect, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      for (let n = 1; n <= 5; n++)
        await sessions.appendEvent({ session, event: setting({ [`k${n}`]: n }, { id: `e${n}` }) });
      const get = async (numRecentEvents: number) =>
        await connect().getSession({ appName, userId, sessionId: "s", config: { numRecentEvents } });
      for (const [count, ids] of [
        [0, []],
        [1, ["e5"]],
        [3, ["e3", "e4", "e5"]],
        [5, ["e1", "e2", "e3", "e4", "e5"]],
        [99, ["e1", "e2", "e3", "e4", "e5"]],
      ] as const) {
        const read = await get(count);
        expect(idsOf(read?.events)).toEqual(ids);
        expect(read?.state).toEqual({ k1: 1, k2: 2, k3: 3, k4: 4, k5: 5 });
      }
    },
  );

  promise(
    "get: afterTimestamp is inclusive, and finds every match though timestamps are out of order",
    async ({ sessions, appName, userId }) => {
      const session = await sessions.createSession({ appName, userId, sessionId: "s" });
      for (const timestamp of [50, 10, 40, 20, 30]) {
        await sessions.appendEvent({
          session,
          event: setting({ [`t${timestamp}`]: true }, { id: `e${timestamp}`, timestamp }),
        });
      }
      const get = async (config: { afterTimestamp?: number; numRecentEvents?: number }) => {
        const read = await sessions.getSession({ appName, userId, sessionId: "s", config });
        expect(Object.keys(read?.state ?? {})).toHaveLength(5);
        return idsOf(read?.events);
      };
      expect(await get({ afterTimestamp: 30 })).toEqual(["e50", "e40", "e30"]);
      expect(await get({ afterTimestamp: 30.5 })).toEqual(["e50", "e40"]);
      expect(await get({ afterTimestamp: 0 })).toHaveLength(5);
      expect(await get({ afterTimestamp: 51 })).toEqual([]);
      expect(await get({ afterTimestamp: 30, numRecentEvents: 3 })).toEqual(["e40", "e30"]);
      expect(await get({ afterTimestamp: 30, numRecentEvents: 0 })).toEqual([]);
    },
  );

  promise("get: returns a separate copy", async ({ sessions, appName, userId }) => {
    const state = { list: [1], "app:list": [1], "user:list": [1] };
    await sessions.createSession({ appName, userId, sessionId: "s", state });
    const get = () => sessions.getSession({ appName, userId, sessionId: "s" });
    const first = await get();
    for (const list of Object.values(first?.state ?? {})) (list as number[]).push(2);
    expect((await get())?.state).toEqual(state);
    const user = await sessions.getUserState({ appName, userId });
    (user.list as number[]).push(3);
    if (first)
      await sessions.appendEvent({ session: first, event: setting({ "app:n": 1, "user:n": 1, n: 1 }) });
    expect((await get())?.state).toEqual({ ...state, n: 1, "app:n": 1, "user:n": 1 });
  });
}
