import { createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test, vi } from "vitest";
import { SessionService, State } from "../src/index.ts";
import { event, setting } from "./contract/values.ts";

const key = { appName: "app", userId: "ada", sessionId: "s" };

describe("the service", () => {
  test("rejects stores with maxMessages, and unknown options", () => {
    const make = (options: object) => () => new SessionService(options as never);
    const stores = createMemoryStores();
    expect(make({ stores: createMemoryStores({ maxMessages: 9 }) })).toThrow(/maxMessages/);
    expect(make({})).toThrow(/stores/);
    expect(make({ stores: {} })).toThrow(/stores/);
    expect(make({ stores, staleWriter: "ignore" })).toThrow(/staleWriter/);
    expect(make({ stores, ttl: 1 })).toThrow(/unknown option "ttl"/);
    expect(make({ stores, now: 1 })).toThrow(/now/);
  });

  test("with ttlMs an expired session counts as missing, and can be created again", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const sessions = new SessionService({ stores: createMemoryStores({ ttlMs: 1_000 }) });
      const session = await sessions.createSession({ ...key, state: { own: 1 } });
      vi.advanceTimersByTime(900);
      await sessions.appendEvent({ session, event: event() });
      vi.advanceTimersByTime(900);
      expect((await sessions.getSession(key))?.events).toHaveLength(1);
      vi.advanceTimersByTime(101);
      expect(await sessions.getSession(key)).toBeUndefined();
      expect((await sessions.listSessions({ appName: "app" })).sessions).toEqual([]);
      await expect(sessions.appendEvent({ session, event: event() })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      await sessions.deleteSession(key);
      expect((await sessions.createSession(key)).state).toEqual({});
    } finally {
      vi.useRealTimers();
    }
  });

  test("now sets the creation time of a session", async () => {
    const sessions = new SessionService({ stores: createMemoryStores(), now: () => 42 });
    expect((await sessions.createSession(key)).lastUpdateTime).toBe(42);
  });

  test('with usedEventId "replace" an event replaces the one with its id, and its delta is applied', async () => {
    const stores = createMemoryStores();
    const sessions = new SessionService({ stores, usedEventId: "replace" });
    const session = await sessions.createSession(key);
    const other = structuredClone(session);
    for (const id of ["one", "two", "three"]) {
      await sessions.appendEvent({ session, event: setting({ [id]: 1, "app:n": id }, { id }) });
    }
    const again = setting({ two: 2, "app:n": "again", "user:n": 1 }, { id: "two", timestamp: 5 });
    for (let round = 0; round < 2; round++) await sessions.appendEvent({ session, event: again });
    expect(session.events.map(({ id }) => id)).toEqual(["one", "two", "three"]);
    expect(session.events[1]).toBe(again);
    const reader = new SessionService({ stores });
    expect(await reader.getSession(key)).toEqual(session);
    expect(session.state).toEqual({ one: 1, two: 2, three: 1, "app:n": "again", "user:n": 1 });
    await sessions.appendEvent({ session, event: event({ id: "four" }) });
    await expect(
      sessions.appendEvent({ session: other, event: setting({ two: 3 }, { id: "two" }) }),
    ).rejects.toMatchObject({ code: "CONFLICT" });
    const reloading = new SessionService({ stores, usedEventId: "replace", staleWriter: "reload" });
    await reloading.appendEvent({ session: other, event: setting({ two: 3 }, { id: "two" }) });
    expect(other.events.map(({ id }) => id)).toEqual(["one", "two", "three", "four"]);
    expect(await reader.getSession(key)).toEqual(other);
  });

  test("concurrent appends through one session object store each event once", async () => {
    const stores = createMemoryStores();
    const sessions = new SessionService({ stores, staleWriter: "reload" });
    const session = await sessions.createSession(key);
    const events = Array.from({ length: 12 }, (_, n) => setting({ [`k${n}`]: n, [`app:${n}`]: n }));
    await Promise.all(events.map((one) => sessions.appendEvent({ session, event: one })));
    const read = await sessions.getSession(key);
    const ids = (all: readonly { id: string }[] = []) => all.map(({ id }) => id).sort();
    expect(ids(session.events)).toEqual(ids(events));
    expect(read?.events.map(({ id }) => id)).toEqual(session.events.map(({ id }) => id));
    expect(read?.state).toEqual(session.state);
    await new SessionService({ stores }).appendEvent({ session, event: event() });
  });

  test("an event in the passed session is recognised, appended at any time before", async () => {
    const sessions = new SessionService({ stores: createMemoryStores() });
    const session = await sessions.createSession(key);
    const first = setting({ n: 1 });
    await sessions.appendEvent({ session, event: first });
    for (let n = 0; n < 300; n++) await sessions.appendEvent({ session, event: event() });
    await sessions.appendEvent({ session, event: structuredClone(first) });
    await expect(sessions.appendEvent({ session, event: { ...first, author: "x" } })).rejects.toMatchObject({
      code: "CONFLICT",
    });
    expect((await sessions.getSession(key))?.events).toHaveLength(301);
  });
});

describe("State", () => {
  test("reads the pending delta first, then the value", () => {
    const state = new State({ a: 1, b: 2 }, { b: 3, c: null });
    expect([state.get("a"), state.get("b"), state.get("c"), state.get("d"), state.get("d", 4)]).toEqual([
      1,
      3,
      null,
      undefined,
      4,
    ]);
    expect([state.has("a"), state.has("c"), state.has("d")]).toEqual([true, true, false]);
    expect(state.toRecord()).toEqual({ a: 1, b: 3, c: null });
  });

  test("writes are pending, and hasDelta returns true", () => {
    const value = {};
    const delta = {};
    const state = new State(value, delta);
    expect(state.hasDelta()).toBe(false);
    state.set("user:a", 1);
    state.update({ b: false, a: undefined });
    expect(state.hasDelta()).toBe(true);
    expect(delta).toStrictEqual({ "user:a": 1, b: false, a: undefined });
    expect(state.get("b", true)).toBe(false);
    expect(state.has("a")).toBe(true);
  });

  test("inherited names are not keys, and __proto__ is an ordinary key", () => {
    const state = new State();
    for (const name of ["toString", "constructor", "__proto__"]) {
      expect(state.has(name)).toBe(false);
      expect(state.get(name, "none")).toBe("none");
      state.set(name, name);
      expect(state.get(name)).toBe(name);
    }
    expect(Object.keys(state.toRecord())).toEqual(["toString", "constructor", "__proto__"]);
  });
});
