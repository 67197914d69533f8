import {
  type BaseSessionService,
  createEvent,
  createEventActions,
  type Event,
  InMemorySessionService,
  Runner,
} from "@google/adk";
import type { StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { GoogleAdkSessionService } from "../src/index.ts";
import { framework } from "./framework.ts";
import { travelAgent } from "./travel-agent.ts";

/** An event of the agent that changes its state. */
export function setting(stateDelta: Record<string, unknown>, fields: Partial<Event> = {}): Event {
  return createEvent({
    invocationId: "i",
    author: "guide",
    ...fields,
    actions: createEventActions({ stateDelta }),
  });
}

/** Three turns of an agent with a tool, each on a new service: the model's prompts, the authors and texts, and the state. */
async function tellStory(connect: () => BaseSessionService, userId: string): Promise<unknown[]> {
  const key = { appName: userId, userId, sessionId: "rome" };
  const steps: unknown[] = [];
  for (let turn = 1; turn <= 3; turn++) {
    const sessionService = connect();
    const { agent, model } = travelAgent();
    await sessionService.getOrCreateSession(key);
    const runner = new Runner({ appName: key.appName, agent, sessionService });
    const newMessage = { role: "user", parts: [{ text: `question ${turn}` }] };
    for await (const { author, content, partial } of runner.runAsync({ ...key, newMessage }))
      steps.push({ author, partial, texts: content?.parts?.map(({ text }) => text) });
    const session = await sessionService.getSession(key);
    const events = session?.events.map(({ author, content }) => ({
      author,
      parts: content?.parts?.map(({ text, functionCall, functionResponse }) => [
        text,
        functionCall?.name,
        functionResponse?.response,
      ]),
    }));
    const { sessions } = await sessionService.listSessions({ appName: key.appName, userId });
    steps.push({ read: model.read, events, state: session?.state, listed: sessions.map(({ id }) => id) });
  }
  await connect().deleteSession(key);
  steps.push(await connect().getSession(key));
  return steps;
}

/** Declares the tests for every backend. It calls `open` twice, for two connections, as in two processes. */
export function declareServiceTests(backend: string, open: () => Promise<StoreFactory>): void {
  describe(`session services on ${backend}`, countedTests(framework, backend), () => {
    let factories: StoreFactory[] = [];
    let services: GoogleAdkSessionService[] = [];
    beforeAll(async () => {
      const stores = await open();
      await stores.setup();
      factories = [stores, await open()];
      services = factories.map((one) => new GoogleAdkSessionService({ stores: one }));
    });
    afterAll(async () => {
      for (const service of services) await service.flush();
      for (const stores of factories) await stores.close();
    });
    const newSession = () => {
      const [service, other] = services as [GoogleAdkSessionService, GoogleAdkSessionService];
      const key = { appName: crypto.randomUUID(), userId: "ada", sessionId: "rome" };
      return { service, other, key };
    };

    test("turns of an agent with a tool equal those with ADK's service, with a new service for each turn", async () => {
      const own = new InMemorySessionService();
      const userId = crypto.randomUUID();
      let connected = 0;
      const steps = await tellStory(
        () => new GoogleAdkSessionService({ stores: factories[connected++ % 2] as StoreFactory }),
        userId,
      );
      expect(steps).toEqual(await tellStory(() => own, userId));
      expect(steps).toHaveLength(16);
    });

    test("events are read as ADK created them, including the brand, with times in milliseconds", async () => {
      const { service, other, key } = newSession();
      const before = Date.now();
      const session = await service.createSession({ ...key, state: { "user:language": "nl" } });
      expect(session.lastUpdateTime).toBeGreaterThanOrEqual(before);
      class UsageMetadata {
        totalTokenCount = 7;
      }
      const events = [
        createEvent({
          invocationId: "i",
          author: "user",
          content: { role: "user", parts: [{ text: "Hi" }] },
        }),
        setting(
          { seen: new Date(5), "user:n": 1, "temp:t": 1 },
          { usageMetadata: new UsageMetadata() as never },
        ),
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

    test("an event with an existing id replaces that event, in the session and in the store", async () => {
      const { service, other, key } = newSession();
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

    test("a stale session is updated, and the event is appended after the newest", async () => {
      const { service, other, key } = newSession();
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
  });
}
