import { createMemoryStores, StoreError, type StoreFactory } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { systemClock } from "@scrollback/store-core/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";
import { SessionService } from "../src/index.ts";
import type { ListSessionsRequest } from "../src/session.ts";
import { threads } from "../src/threads.ts";
import { event } from "./contract/values.ts";

const app = { appName: "app" };
const ada = { ...app, userId: "ada" };

/** The ids on all pages. */
async function idsOf(
  sessions: SessionService,
  request: Partial<ListSessionsRequest> = {},
): Promise<string[]> {
  const ids: string[] = [];
  let pageToken: string | undefined;
  do {
    const page = await sessions.listSessions({ ...app, limit: 100, ...request, pageToken });
    ids.push(...page.sessions.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return ids;
}

/** The ids in the promised order. */
function sorted(times: ReadonlyMap<string, number>): string[] {
  return [...times].sort(([a, at], [b, bt]) => at - bt || (a < b ? -1 : 1)).map(([id]) => id);
}

async function move(sessions: SessionService, sessionId: string, timestamp: number): Promise<void> {
  const session = await sessions.getSession({ ...ada, sessionId, config: { numRecentEvents: 0 } });
  if (session) await sessions.appendEvent({ session, event: event({ timestamp }) });
}

/** Creates sessions at the times 0, 1, 2 … */
async function filled(stores: StoreFactory, count: number) {
  let now = 0;
  const sessions = new SessionService({ stores, now: () => now });
  for (let n = 0; n < count; n++) {
    now = n;
    await sessions.createSession({ ...ada, sessionId: `s${n}` });
  }
  return sessions;
}

/** A clock whose timers run when the test says so. */
function manualTimers() {
  let due: (() => void)[] = [];
  return {
    clock: {
      ...systemClock,
      timer(_ms: number, run: () => void) {
        due.push(run);
        return () => undefined;
      },
    },
    run() {
      for (const one of due.splice(0)) one();
      due = [];
    },
  };
}

test("any history of creations, moves and deletions is listed in order, with pages of any size", async () => {
  const step = fc.record({
    kind: fc.constantFrom("create", "move", "move", "delete", "list"),
    session: fc.nat(30),
    time: fc.integer({ min: -5, max: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 40, maxLength: 80 }),
      fc.integer({ min: 1, max: 40 }),
      async (steps, limit) => {
        const stores = createMemoryStores();
        let now = 0;
        const services = [0, 1].map(() => new SessionService({ stores, now: () => now }));
        const times = new Map<string, number>();
        for (const [index, { kind, session, time }] of steps.entries()) {
          const service = services[index % 2] as SessionService;
          const sessionId = `s${session}`;
          now = time;
          if (kind === "list") await service.listSessions(app);
          else if (kind === "delete") {
            await service.deleteSession({ ...ada, sessionId });
            times.delete(sessionId);
          } else {
            if (times.has(sessionId)) await move(service, sessionId, time);
            else await service.createSession({ ...ada, sessionId });
            times.set(sessionId, time);
          }
        }
        for (const service of services) await service.flush();
        const reader = new SessionService({ stores });
        for (const request of [{}, { userId: "ada" }]) {
          expect(await idsOf(reader, { ...request, limit, order: "asc" })).toEqual(sorted(times));
          expect(await idsOf(reader, { ...request, limit })).toEqual(sorted(times).reverse());
        }
      },
    ),
    { numRuns: 10 },
  );
});

test("a session moves at once in the lists of its service, and within a second in those of others", async () => {
  const stores = createMemoryStores();
  await filled(stores, 5);
  const timers = manualTimers();
  const [writer, reader] = [
    new SessionService({ stores, clock: timers.clock }),
    new SessionService({ stores }),
  ];
  await move(writer, "s1", 9_000);
  timers.run();
  await expect.poll(async () => (await idsOf(reader))[0]).toBe("s1");
  await move(writer, "s2", 9_001);
  expect((await idsOf(writer))[0]).toBe("s2");
  expect((await idsOf(reader))[0]).toBe("s2");
});

test("a move of a process that died is shown at the old place with the current time, and in order after a list", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  await filled(stores, 5);
  const dying = new WatchedDriver(driver);
  await move(new SessionService({ stores: createStores(dying) }), "s1", 9_000);
  dying.writesLeft = 0;
  const reader = new SessionService({ stores });
  const { sessions } = await reader.listSessions(app);
  expect(sessions.map(({ id, lastUpdateTime }) => [id, lastUpdateTime])[3]).toEqual(["s1", 9_000]);
  await reader.flush();
  expect(await idsOf(reader)).toEqual(["s1", "s4", "s3", "s2", "s0"]);
});

test("a failed creation of an existing session does not move it", async () => {
  const sessions = await filled(createMemoryStores(), 3);
  await expect(sessions.createSession({ ...ada, sessionId: "s1" })).rejects.toMatchObject({
    code: "CONFLICT",
  });
  await sessions.flush();
  expect(await idsOf(sessions)).toEqual(["s2", "s1", "s0"]);
});

test("ids of any length are listed in the order of their characters, and named if they are unreadable", async () => {
  const stores = createMemoryStores();
  const sessions = new SessionService({ stores, now: () => 1 });
  const ids = ["#", "a", "a!", "a/b:c", "z".repeat(800), "é", "😀"];
  const long = "x".repeat(1_023);
  const users = ["ada", "u:1", "%3A", `${long}y`, `${long}z`];
  for (const userId of users) {
    for (const sessionId of [...ids].reverse()) await sessions.createSession({ ...app, userId, sessionId });
    expect(await idsOf(sessions, { userId, order: "asc" })).toEqual(ids);
    await sessions.createSession({ ...app, userId, sessionId: long });
    await stores.open(threads.session("app", userId, long)).commit({ metadata: { version: 2 } });
    const { unreadable } = await sessions.listSessions({ ...app, userId });
    expect(unreadable).toEqual([{ ...app, userId, sessionId: long }]);
  }
  expect(await idsOf(sessions)).toHaveLength(users.length * ids.length);
  for (const userId of users) await sessions.deleteUser({ ...app, userId });
  expect(await sessions.listSessions(app)).toEqual({ sessions: [] });
  expect((await stores.listThreads({ prefix: "sessions:session:" })).threads).toEqual([]);
});

test("deleteUser deletes a session that moves down while the list is read", async () => {
  const driver = new MemoryDriver();
  const writer = await filled(createStores(driver), 150);
  const watched = new WatchedDriver(driver);
  const { index } = watched;
  let isFirst = true;
  if (index) {
    const list = index.listEntries;
    index.listEntries = async (request) => {
      const page = await list(request);
      if (isFirst) await move(writer, "s149", -1);
      isFirst = false;
      await writer.flush();
      return page;
    };
  }
  await new SessionService({ stores: createStores(watched) }).deleteUser(ada);
  expect(await idsOf(writer)).toEqual([]);
  expect(await writer.getSession({ ...ada, sessionId: "s149" })).toBeUndefined();
});

test("rebuildLists lists all sessions of an app again after the indexes were lost, and no others", async () => {
  const stores = createMemoryStores();
  const sessions = await filled(stores, 5);
  const long = "é".repeat(500);
  await sessions.createSession({ ...app, userId: long, sessionId: long });
  await sessions.createSession({ ...ada, appName: "other", sessionId: "s" });
  await sessions.createSession({ ...ada, sessionId: "deleted" });
  await sessions.deleteSession({ ...ada, sessionId: "deleted" });
  const before = await Promise.all([idsOf(sessions), idsOf(sessions, { userId: long })]);
  const { names } = await stores.listIndexes();
  for (const name of names) {
    const index = stores.index(name);
    for (const entry of (await index.list()).entries) await index.remove({ key: entry.key, id: entry.id });
  }
  const other = new SessionService({ stores });
  expect(await idsOf(other)).toEqual([]);
  expect(await other.rebuildLists(app)).toBe(6);
  expect(await Promise.all([idsOf(other), idsOf(other, { userId: long })])).toEqual(before);
  expect((await other.listSessions({ appName: "other" })).sessions).toEqual([]);
});

describe("an index that has lost a part of its entries, as Redis does if it evicts, is mended by", () => {
  /** The first request that meets the damage of an index fails, and empties it. */
  class DamagedDriver extends MemoryDriver {
    readonly damaged = new Set<string>();
    readonly #inner = new MemoryDriver().index;
    override readonly index = wrappedIndex(this.#inner, async (_verb, run, request) => {
      const name = "index" in request ? request.index : "";
      if (!this.damaged.delete(name)) return await run();
      const all = { index: name, direction: "up", limit: 100, after: undefined, signal: undefined } as const;
      for (const { key, id } of (await this.#inner.listEntries(all)).entries)
        await this.#inner.removeEntry({ index: name, key, id, signal: undefined });
      throw new StoreError("CORRUPT", "a part is lost");
    });
  }

  test.each<[string, (sessions: SessionService) => Promise<unknown>]>([
    ["rebuildLists", (sessions) => sessions.rebuildLists(app)],
    [
      "a list, which fails",
      (sessions) => expect(sessions.listSessions(app)).rejects.toMatchObject({ code: "CORRUPT" }),
    ],
    [
      "a read of each session",
      async (sessions) => {
        for (const sessionId of ["s0", "s1", "s2"]) {
          await sessions.getSession({ ...ada, sessionId });
          await sessions.flush();
        }
      },
    ],
  ])("%s", async (_call, call) => {
    const driver = new DamagedDriver();
    await filled(createStores(driver), 3);
    driver.damaged.add("sessions:of-app:app").add("sessions:of-user:app:ada");
    const sessions = new SessionService({ stores: createStores(driver) });
    await call(sessions);
    await sessions.flush();
    expect(driver.damaged.size).toBe(0);
    for (const request of [{}, { userId: "ada" }])
      expect(await idsOf(sessions, request)).toEqual(["s2", "s1", "s0"]);
  });
});
