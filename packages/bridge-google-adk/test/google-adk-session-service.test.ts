import { BaseSessionService, createEvent, type Event, State } from "@google/adk";
import { createMemoryStores } from "@scrollback/store-core";
import { expect, test, vi } from "vitest";
import { onMemory } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { GoogleAdkSessionService } from "../src/index.ts";
import { declareServiceTests, setting } from "./service-tests.ts";

onMemory(declareServiceTests);

const key = { appName: "travel", userId: "ada", sessionId: "rome" };

function open() {
  return { service: new GoogleAdkSessionService({ stores: createMemoryStores() }) };
}

test("it is an ADK session service, and returns undefined for a missing session", async () => {
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

test("a value set in the live session after the delta was created is not overwritten", async () => {
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

test("lists pages with ADK's page numbers, over more sessions than one page of the store has", async () => {
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

test("stores that trim and unknown options are refused", () => {
  const make = (options: object) => () => new GoogleAdkSessionService(options as never);
  expect(make({ stores: createMemoryStores({ maxMessages: 5 }) })).toThrow(/maxMessages/);
  expect(make({ stores: createMemoryStores(), ttl: 5 })).toThrow(/unknown option "ttl"/);
});

test("the newest events begin with no result whose call is older; a warning says so once", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const { service } = open();
  const session = await service.createSession(key);
  type Parts = NonNullable<NonNullable<Event["content"]>["parts"]>;
  const event = (author: string, ...parts: Parts) =>
    createEvent({ author, content: { role: author, parts } });
  const call = (id: string) => ({ functionCall: { id, name: "look", args: {} } });
  const result = (id: string) => ({ functionResponse: { id, name: "look", response: {} } });
  const events = [
    event("guide", call("a")),
    event("guide", call("b"), call("c")),
    event("guide", result("a")),
    event("guide", result("c"), result("b")),
    event("user", result("a")),
    event("guide", { text: "Fine." }),
  ];
  for (const one of events) await service.appendEvent({ session, event: one });
  const partsOf = async (numRecentEvents: number) => {
    const read = await service.getSession({ ...key, config: { numRecentEvents } });
    return read?.events.map(({ content }) => content?.parts);
  };
  expect(await partsOf(3)).toEqual([[{ text: "Fine." }]]);
  expect(await partsOf(5)).toEqual([[call("b"), call("c")], [result("c"), result("b")], [{ text: "Fine." }]]);
  expect((await service.getSession(key))?.events.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  expect(warn).toHaveBeenCalledTimes(1);
  vi.restoreAllMocks();
});
