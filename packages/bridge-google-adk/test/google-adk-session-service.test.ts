import { BaseSessionService, createEvent, createEventActions, type Event, State } from "@google/adk";
import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { GoogleAdkSessionService } from "../src/index.ts";

const key = { appName: "travel", userId: "ada", sessionId: "rome" };

function setting(stateDelta: Record<string, unknown>, fields: Partial<Event> = {}): Event {
  return createEvent({
    invocationId: "i",
    author: "guide",
    ...fields,
    actions: createEventActions({ stateDelta }),
  });
}

function open() {
  const stores = createMemoryStores();
  return {
    stores,
    service: new GoogleAdkSessionService({ stores }),
    other: new GoogleAdkSessionService({ stores }),
  };
}

test("it is one of ADK's session services, and gives undefined for a session that is not there", async () => {
  const { service } = open();
  expect(service).toBeInstanceOf(BaseSessionService);
  expect(await service.getSession(key)).toBeUndefined();
  await service.deleteSession(key);
  expect(await service.listSessions({ appName: "travel" })).toEqual({
    sessions: [],
    page: 1,
    limit: 0,
    totalItems: 0,
    totalPages: 0,
  });
});

test("events come back as ADK made them, brand included, and times are in milliseconds", async () => {
  const { service, other } = open();
  const before = Date.now();
  const session = await service.createSession({ ...key, state: { "user:language": "nl" } });
  expect(session.lastUpdateTime).toBeGreaterThanOrEqual(before);
  class UsageMetadata {
    totalTokenCount = 7;
  }
  const events = [
    createEvent({ invocationId: "i", author: "user", content: { role: "user", parts: [{ text: "Hi" }] } }),
    setting({ seen: new Date(5), "user:n": 1, "temp:t": 1 }, { usageMetadata: new UsageMetadata() as never }),
    createEvent({
      content: { parts: [{ inlineData: { data: "AAAA", mimeType: "image/png" } }] },
      branch: "a.b",
    }),
  ];
  for (const event of events) expect(await service.appendEvent({ session, event })).toBe(event);
  const read = await other.getSession(key);
  expect(read?.events).toEqual(events.map((event) => ({ ...event })));
  expect(read?.events.every((event) => Reflect.get(event, Symbol.for("google.adk.event")) === true)).toBe(
    true,
  );
  expect(read?.state).toEqual({ "user:language": "nl", seen: new Date(5), "user:n": 1 });
  expect(read?.lastUpdateTime).toBe(events[2]?.timestamp);
  const config = { afterTimestamp: events[2]?.timestamp ?? 0 };
  expect((await other.getSession({ ...key, config }))?.events.at(-1)?.id).toBe(events[2]?.id);
  expect((await other.getSession({ ...key, config: { numRecentEvents: 1 } }))?.events).toHaveLength(1);
});

test("an event whose id is there takes that one's place, in the session and in the store", async () => {
  const { service, other } = open();
  const session = await service.createSession(key);
  const first = setting({ n: 1 }, { content: { parts: [{ text: "draft" }] } });
  await service.appendEvent({ session, event: first });
  await service.appendEvent({ session, event: setting({ m: 1 }) });
  const again = setting({ n: 2 }, { id: first.id, content: { parts: [{ text: "final" }] } });
  for (let round = 0; round < 2; round++) await service.appendEvent({ session, event: again });
  const read = await other.getSession(key);
  for (const events of [session.events, read?.events]) {
    expect(events).toHaveLength(2);
    expect(events?.[0]?.content?.parts?.[0]?.text).toBe("final");
  }
  expect(read?.state).toEqual({ n: 2, m: 1 });
});

test("a stale session is brought up to date, and the event goes behind the newest", async () => {
  const { service, other } = open();
  const session = await service.createSession(key);
  const stale = await other.getSession(key);
  if (!stale) throw new Error("it was created");
  const theirs = setting({ a: 1, "app:a": 1 });
  await service.appendEvent({ session, event: theirs });
  const mine = setting({ b: 1 });
  await other.appendEvent({ session: stale, event: mine });
  expect(stale.events.map(({ id }) => id)).toEqual([theirs.id, mine.id]);
  expect(stale.state).toEqual({ a: 1, b: 1, "app:a": 1 });
  expect(await service.getSession(key)).toEqual({
    ...stale,
    events: stale.events.map((event) => ({ ...event })),
  });
  const last = setting({ c: 1 });
  await service.appendEvent({ session: { ...session, revision: undefined } as never, event: last });
  expect((await other.getSession(key))?.state).toEqual({ a: 1, b: 1, c: 1, "app:a": 1 });
});

test("events that are appended at once through one session are there once each, in the session and in the store", async () => {
  const { service, other } = open();
  const session = await service.createSession(key);
  const events = Array.from({ length: 12 }, (_, n) => setting({ [`k${n}`]: n, [`app:${n}`]: n }));
  await Promise.all(events.map((event) => service.appendEvent({ session, event })));
  const read = await other.getSession(key);
  const ids = (all: readonly Event[] = []) => all.map(({ id }) => id).sort();
  expect(ids(session.events)).toEqual(ids(events));
  expect(ids(read?.events)).toEqual(ids(events));
  expect(read?.state).toEqual(session.state);
  expect(Object.keys(session.state)).toHaveLength(24);
});

test("a value that was set in the live session since the delta was made is not put back", async () => {
  const { service } = open();
  const session = await service.createSession(key);
  const [older, newer] = [{}, {}];
  new State(session.state, older).set("step", 1);
  new State(session.state, newer).set("step", 2);
  await service.appendEvent({ session, event: setting({}, {}) });
  const event = setting({});
  event.actions.stateDelta = older;
  await service.appendEvent({ session, event });
  expect(session.state.step).toBe(2);
});

test("a partial event is returned and nothing else", async () => {
  const { service } = open();
  const session = await service.createSession(key);
  const piece = setting({ n: 1 }, { partial: true });
  expect(await service.appendEvent({ session, event: piece })).toBe(piece);
  expect(session.events).toEqual([]);
  expect((await service.getSession(key))?.state).toEqual({});
});

test("lists in pages as ADK counts them, over more sessions than one page of the store has", async () => {
  const { service } = open();
  for (let n = 0; n < 130; n++) {
    const session = await service.createSession({
      ...key,
      sessionId: String(n).padStart(3, "0"),
      state: { n },
    });
    await service.appendEvent({ session, event: setting({}, { timestamp: 1_000 + n }) });
  }
  const all = await service.listSessions({ appName: "travel", userId: "ada", order: "asc" });
  expect(all).toMatchObject({ page: 1, limit: 130, totalItems: 130, totalPages: 1 });
  expect(all.sessions.map(({ state }) => state.n)).toEqual(Array.from({ length: 130 }, (_, n) => n));
  expect(all.sessions.every(({ events }) => events.length === 0)).toBe(true);
  const page = await service.listSessions({ appName: "travel", limit: 50, page: 3 });
  expect(page).toMatchObject({ page: 3, limit: 50, totalItems: 130, totalPages: 3 });
  expect(page.sessions).toHaveLength(30);
  const rest = await service.listSessions({ appName: "travel", limit: 50, offset: 100 });
  expect(rest.sessions.map(({ id }) => id)).toEqual(page.sessions.map(({ id }) => id));
});

test("what ADK asks at once is done once: a session is made once, a missing one is NOT_FOUND, a taken one CONFLICT", async () => {
  const { service, other } = open();
  const made = await Promise.all([service, other, service, other].map((one) => one.getOrCreateSession(key)));
  expect(new Set(made.map(({ revision }) => revision)).size).toBe(1);
  await expect(service.createSession(key)).rejects.toMatchObject({ code: "CONFLICT" });
  await service.deleteSession(key);
  for (const session of [made[0], { ...made[0], revision: undefined }]) {
    await expect(
      service.appendEvent({ session: session as never, event: setting({}) }),
    ).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  }
});

test("stores that trim and unknown options are refused", () => {
  const make = (options: object) => () => new GoogleAdkSessionService(options as never);
  expect(make({ stores: createMemoryStores({ maxMessages: 5 }) })).toThrow(/maxMessages/);
  expect(make({ stores: createMemoryStores(), ttl: 5 })).toThrow(/unknown option "ttl"/);
});
