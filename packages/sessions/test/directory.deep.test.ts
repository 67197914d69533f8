import { createMemoryStores, createStores, MemoryDriver } from "@scrollback/store-core";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { SessionService } from "../src/index.ts";
import {
  app,
  compact,
  expectOrder,
  filled,
  idsOf,
  move,
  nameOf,
  ofApp,
  readDirectory,
  sorted,
  withoutSorting,
} from "./listed.ts";

test("any history of creations, moves and deletions is listed in order, with pages of any size, before and after a compaction", async () => {
  const step = fc.record({
    kind: fc.constantFrom("create", "move", "move", "delete", "sort"),
    session: fc.nat(150),
    time: fc.nat(40),
  });
  const history = fc.array(step, { minLength: 150, maxLength: 400 });
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.integer({ min: 1, max: 100 }),
      fc.constantFrom("desc", "asc"),
      async (steps, limit, order) => {
        const stores = createMemoryStores();
        let now = 0;
        const services = [0, 1].map(() => new SessionService({ stores, now: () => now }));
        const times = new Map<string, number>();
        for (const [index, { kind, session, time }] of steps.entries()) {
          const service = services[index % 2] as SessionService;
          const sessionId = nameOf(session);
          const key = { ...app, userId: "ada", sessionId };
          now = time;
          if (kind === "sort") await compact(stores, ofApp);
          else if (kind === "delete") {
            await service.deleteSession(key);
            times.delete(sessionId);
          } else if (!times.has(sessionId)) {
            await service.createSession(key);
            times.set(sessionId, time);
          } else {
            await move(service, sessionId, time);
            times.set(sessionId, time);
          }
        }
        for (const service of services) await service.flush();
        expect(await idsOf(new SessionService({ stores }), { limit, order })).toEqual(sorted(times, order));
      },
    ),
    { numRuns: 25 },
  );
});

test("a note written after a compaction of a newer one does not move the session back", async () => {
  const stores = createMemoryStores();
  const second = new SessionService({ stores });
  const times = await withoutSorting(async () => {
    const { sessions: first, times } = await filled(stores, 140, (n) => n);
    await move(first, nameOf(3), 50);
    await move(second, nameOf(3), 100);
    await second.flush();
    await compact(stores, ofApp);
    expect((await readDirectory(stores, ofApp)).notes).toEqual([]);
    await first.flush();
    return times.set(nameOf(3), 100);
  });
  await expectOrder(stores, times);
  await withoutSorting(async () => {
    const { sessions } = await filled(stores, 140, (n) => n, "later");
    await sessions.flush();
  });
  await compact(stores, ofApp);
  const { root } = await readDirectory(stores, ofApp);
  expect(root.leaves.reduce((sum, { count }) => sum + count, 0)).toBe(280);
});

test("a late note of a deleted session does not move a new session of that id", async () => {
  const stores = createMemoryStores();
  const second = new SessionService({ stores });
  const times = await withoutSorting(async () => {
    const { sessions: first, times } = await filled(stores, 140, (n) => n);
    await move(second, nameOf(3), 50);
    await first.deleteSession({ ...app, userId: "ada", sessionId: nameOf(3) });
    await new SessionService({ stores, now: () => 100 }).createSession({
      ...app,
      userId: "ada",
      sessionId: nameOf(3),
    });
    await second.flush();
    return times.set(nameOf(3), 100);
  });
  await expectOrder(stores, times);
});

test("sessions with equal times are ordered by id, across several leaves", async () => {
  const stores = createMemoryStores();
  const { times } = await withoutSorting(() => filled(stores, 700, (n) => (n % 7 === 0 ? n : 5)));
  await compact(stores, ofApp);
  await expectOrder(stores, times);
  expect((await readDirectory(stores, ofApp)).root.leaves.length).toBeGreaterThan(1);
});

test("the number of leaves stays small with any moves", async () => {
  const stores = createMemoryStores();
  const { sessions, times } = await filled(stores, 600, (n) => n);
  for (let n = 0; n < 2_000; n++) {
    const id = nameOf((n * 7) % 600);
    times.set(id, 1_000 + n);
    await move(sessions, id, 1_000 + n);
    if (n % 5 === 0) await sessions.flush();
  }
  await sessions.flush();
  await compact(stores, ofApp);
  await expectOrder(stores, times);
  const { root, notes } = await readDirectory(stores, ofApp);
  expect(root.leaves.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(600);
  expect(root.leaves.length + root.unused.length).toBeLessThan(20);
  expect(notes.length).toBeLessThan(128);
});

test("concurrent creations and compactions of many services lose no session", async () => {
  const stores = createMemoryStores();
  const services = Array.from({ length: 6 }, () => new SessionService({ stores }));
  await Promise.all(
    services.map(async (service, writer) => {
      for (let n = 0; n < 150; n++) {
        await service.createSession({ ...app, userId: "ada", sessionId: `${writer}-${n}` });
        if (n % 40 === 0) await compact(stores, ofApp);
      }
    }),
  );
  const ids = await idsOf(new SessionService({ stores }));
  expect(ids).toHaveLength(900);
  expect(new Set(ids).size).toBe(900);
});

describe("in a directory of more than 64 sessions", () => {
  test("a service's own lists are in order at once, other services' lists after a flush", async () => {
    const stores = createMemoryStores();
    const { sessions, times } = await filled(stores, 300, (n) => n);
    await move(sessions, nameOf(7), 9_000);
    times.set(nameOf(7), 9_000);
    expect((await idsOf(sessions))[0]).toBe(nameOf(7));
    await move(sessions, nameOf(8), 9_001);
    times.set(nameOf(8), 9_001);
    await sessions[Symbol.asyncDispose]();
    await expectOrder(stores, times);
  });

  test("other services' lists are in order within about a second, without a flush", async () => {
    const stores = createMemoryStores();
    const { sessions } = await filled(stores, 100, (n) => n);
    await move(sessions, nameOf(7), 9_000);
    const reader = new SessionService({ stores });
    await expect.poll(async () => (await idsOf(reader))[0], { timeout: 5_000 }).toBe(nameOf(7));
  });

  test("a session whose move was not noted is listed once, with its current time, and later in order", async () => {
    const driver = new MemoryDriver();
    const stores = createStores(driver);
    const { times } = await filled(stores, 300, (n) => n);
    const dying = new WatchedDriver(driver);
    const service = new SessionService({ stores: createStores(dying) });
    await move(service, nameOf(7), 9_000);
    dying.writesLeft = 0;
    times.set(nameOf(7), 9_000);
    const reader = new SessionService({ stores });
    const listed: { id: string; lastUpdateTime: number }[] = [];
    let pageToken: string | undefined;
    do {
      const page = await reader.listSessions({ ...app, limit: 50, pageToken });
      listed.push(...page.sessions);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    expect(new Set(listed.map(({ id }) => id)).size).toBe(300);
    expect(listed).toHaveLength(300);
    expect(listed.find(({ id }) => id === nameOf(7))?.lastUpdateTime).toBe(9_000);
    await reader.flush();
    expect(await idsOf(new SessionService({ stores }))).toEqual(sorted(times, "desc"));
  });

  test("a failed creation of an existing session does not move it", async () => {
    const stores = createMemoryStores();
    const { sessions, times } = await filled(stores, 200, (n) => n);
    const again = sessions.createSession({ ...app, userId: "ada", sessionId: nameOf(5) });
    await expect(again).rejects.toMatchObject({ code: "CONFLICT" });
    await sessions.flush();
    await expectOrder(stores, times);
  });
});

test("an entry without a session is skipped, and removed from the directory an hour later", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  const dying = new WatchedDriver(driver);
  dying.writesLeft = 2;
  const made = new SessionService({ stores: createStores(dying) }).createSession({
    ...app,
    userId: "ada",
    sessionId: "s",
  });
  await Promise.race([made, dying.death]);
  const reader = new SessionService({ stores });
  expect(await idsOf(reader)).toEqual([]);
  await reader.flush();
  expect((await readDirectory(stores, ofApp)).notes).toHaveLength(1);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_700_000 });
  try {
    expect(await idsOf(reader)).toEqual([]);
    await reader.flush();
    const { notes } = await readDirectory(stores, ofApp);
    expect(notes.at(-1)?.removed).toBe(true);
  } finally {
    vi.useRealTimers();
  }
  await reader.createSession({ ...app, userId: "ada", sessionId: "s" });
  expect(await idsOf(new SessionService({ stores }))).toEqual(["s"]);
});
