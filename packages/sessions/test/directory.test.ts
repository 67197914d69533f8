import { createMemoryStores, createStores, MemoryDriver, type StoreFactory } from "@scrollback/store-core";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { event } from "../src/contract/values.ts";
import { compact } from "../src/directory/compact.ts";
import { readDirectory } from "../src/directory/tree.ts";
import { type ListSessionsRequest, SessionService } from "../src/index.ts";
import { threads } from "../src/threads.ts";
import { WatchedDriver } from "./watched-driver.ts";

const app = { appName: "app" };
const ofApp = threads.directoryOfApp("app");
const nameOf = (n: number) => `s${String(n).padStart(4, "0")}`;

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

/** The ids in the order that is promised. */
function sorted(times: ReadonlyMap<string, number>, order: "desc" | "asc"): string[] {
  const direction = order === "desc" ? -1 : 1;
  return [...times].sort(([a, at], [b, bt]) => direction * (at - bt) || (a < b ? -1 : 1)).map(([id]) => id);
}

async function move(
  sessions: SessionService,
  sessionId: string,
  timestamp: number,
  userId = "ada",
): Promise<void> {
  const session = await sessions.getSession({ ...app, userId, sessionId, config: { numRecentEvents: 0 } });
  if (session) await sessions.appendEvent({ session, event: event({ timestamp }) });
}

/** A service on a directory of so many sessions, whose times are given. */
async function filled(stores: StoreFactory, count: number, timeOf: (n: number) => number) {
  let now = 0;
  const sessions = new SessionService({ stores, now: () => now });
  const times = new Map<string, number>();
  for (let n = 0; n < count; n++) {
    now = timeOf(n);
    times.set(nameOf(n), now);
    await sessions.createSession({ ...app, userId: "ada", sessionId: nameOf(n) });
  }
  await sessions.flush();
  return { sessions, times };
}

async function expectOrder(stores: StoreFactory, times: ReadonlyMap<string, number>): Promise<void> {
  const reader = new SessionService({ stores });
  for (const order of ["desc", "asc"] as const) {
    for (const userId of [undefined, "ada"])
      expect(await idsOf(reader, { order, userId })).toEqual(sorted(times, order));
  }
}

test("any history of creations, moves and deletions is listed in order, on pages of any size, before and after sorting", async () => {
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

test("sessions of one time come by id, though they lie in several leaves", async () => {
  const stores = createMemoryStores();
  const { times } = await filled(stores, 700, (n) => (n % 7 === 0 ? n : 5));
  await expectOrder(stores, times);
  expect((await readDirectory(stores, ofApp)).root.leaves.length).toBeGreaterThan(1);
});

test("leaves stay few and full, whatever moves", async () => {
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
  const { root, noteCount } = await readDirectory(stores, ofApp);
  expect(root.leaves.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(600);
  expect(root.leaves.length + root.retired.length).toBeLessThan(20);
  expect(noteCount).toBeLessThan(128);
});

test("many services that create at once lose no session, and sort at the same time", async () => {
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

test.each([0, 1, 2, 3, 4])(
  "a process that dies while it sorts, after %i commits, leaves the directory whole",
  async (commits) => {
    const driver = new MemoryDriver();
    const stores = createStores(driver);
    const random = vi.spyOn(Math, "random").mockReturnValue(0.999);
    const { times } = await filled(stores, 600, (n) => n);
    random.mockRestore();
    const dying = new WatchedDriver(driver);
    dying.commitsLeft = commits;
    await Promise.race([compact(createStores(dying), ofApp), dying.death]);
    await expectOrder(stores, times);
    await compact(stores, ofApp);
    await expectOrder(stores, times);
    expect((await readDirectory(stores, ofApp)).noteCount).toBe(0);
  },
);

/** A driver that waits before it does what `isMeant` says, once, until it is told to go on. */
function pausing(driver: MemoryDriver, verb: "commit" | "read", isMeant: (threadId: string) => boolean) {
  const watched = new WatchedDriver(driver);
  let goOn = () => {};
  const told = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const waitOnce = async (threadId: string) => {
    if (!isMeant(threadId)) return;
    reach();
    await told;
  };
  const { commit, read } = watched;
  if (verb === "commit") {
    watched.commit = async (request) => {
      await waitOnce(request.threadId);
      return await commit.call(watched, request);
    };
  } else {
    watched.read = async (request) => {
      await waitOnce(request.threadId);
      return await read.call(watched, request);
    };
  }
  return { stores: createStores(watched), reached, goOn };
}

/** Notes that nobody sorts but the test. */
async function withoutSorting<T>(work: () => Promise<T>): Promise<T> {
  const random = vi.spyOn(Math, "random").mockReturnValue(0.999);
  try {
    return await work();
  } finally {
    random.mockRestore();
  }
}

test("one that sorts too slowly leaves the directory to the one that was faster", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  await withoutSorting(async () => {
    const { sessions, times } = await filled(stores, 300, (n) => n);
    const slow = pausing(driver, "commit", (threadId) => threadId === ofApp);
    const sorted = compact(slow.stores, ofApp);
    await slow.reached;
    await compact(stores, ofApp);
    for (let n = 0; n < 300; n++) {
      times.set(nameOf(n), 5_000 - n);
      await move(sessions, nameOf(n), 5_000 - n);
    }
    await sessions.flush();
    await compact(stores, ofApp);
    slow.goOn();
    await sorted;
    await expectOrder(stores, times);
    expect((await readDirectory(stores, ofApp)).root.compactions).toBe(2);
  });
});

test("one that lists while a leaf is written over starts again", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  await withoutSorting(async () => {
    const { times } = await filled(stores, 300, (n) => n);
    await compact(stores, ofApp);
    const slow = pausing(driver, "read", (threadId) => threadId.startsWith("sessions:leaf:"));
    const listed = new SessionService({ stores: slow.stores }).listSessions({
      ...app,
      limit: 100,
      order: "asc",
    });
    await slow.reached;
    // The first time new leaves are written. The second time the retired ones are, for other ranges.
    let now = 0;
    const sessions = new SessionService({ stores, now: () => now });
    for (let n = 300; n < 600; n++) {
      now = n;
      times.set(nameOf(n), n);
      await sessions.createSession({ ...app, userId: "ada", sessionId: nameOf(n) });
    }
    for (let round = 1; round <= 2; round++) {
      for (let n = 0; n < 600; n++) {
        times.set(nameOf(n), round * 1_000 + n);
        await move(sessions, nameOf(n), round * 1_000 + n);
      }
      await sessions.flush();
      await compact(stores, ofApp);
    }
    slow.goOn();
    expect((await listed).sessions.map(({ id }) => id)).toEqual(sorted(times, "asc").slice(0, 100));
  });
});

test("an entry that was left behind, as a note of a dead process is missing, is not listed, and goes", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  await withoutSorting(async () => {
    const { sessions, times } = await filled(stores, 600, (n) => n);
    await compact(stores, ofApp);
    const dying = new WatchedDriver(driver);
    await move(new SessionService({ stores: createStores(dying) }), nameOf(7), 9_000);
    dying.commitsLeft = 0;
    for (const n of [7, ...Array.from({ length: 130 }, (_, i) => 450 + i)]) {
      times.set(nameOf(n), 9_001 + n);
      await move(sessions, nameOf(n), 9_001 + n);
    }
    await sessions.flush();
    await compact(stores, ofApp);
    const entries = async () =>
      (await readDirectory(stores, ofApp)).root.leaves.reduce((sum, { count }) => sum + count, 0);
    expect(await entries()).toBe(601);
    await expectOrder(stores, times);
    // What a list has found wrong is sorted in with the next notes.
    const reader = new SessionService({ stores });
    await idsOf(reader);
    for (let n = 450; n < 580; n++) await move(reader, nameOf(n), 9_001 + n + 0.5);
    await reader.flush();
    await compact(stores, ofApp);
    expect(await entries()).toBe(600);
  });
});

describe("in a directory of more than 64 sessions", () => {
  test("what a service has appended is in order in its own lists at once, and in others when it is flushed", async () => {
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

  test("others see it within a second or so, without a flush", async () => {
    const stores = createMemoryStores();
    const { sessions } = await filled(stores, 100, (n) => n);
    await move(sessions, nameOf(7), 9_000);
    const reader = new SessionService({ stores });
    await expect.poll(async () => (await idsOf(reader))[0], { timeout: 5_000 }).toBe(nameOf(7));
  });

  test("a session whose move was never noted is listed once, with its true time, and then stands where it belongs", async () => {
    const driver = new MemoryDriver();
    const stores = createStores(driver);
    const { times } = await filled(stores, 300, (n) => n);
    const dying = new WatchedDriver(driver);
    const service = new SessionService({ stores: createStores(dying) });
    await move(service, nameOf(7), 9_000);
    dying.commitsLeft = 0;
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

  test("a failed creation of a session that is there leaves it where it stands", async () => {
    const stores = createMemoryStores();
    const { sessions, times } = await filled(stores, 200, (n) => n);
    const again = sessions.createSession({ ...app, userId: "ada", sessionId: nameOf(5) });
    await expect(again).rejects.toMatchObject({ code: "CONFLICT" });
    await sessions.flush();
    await expectOrder(stores, times);
  });
});

test("an entry without a session is skipped, and gone from the directory an hour later", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  const dying = new WatchedDriver(driver);
  dying.commitsLeft = 2;
  const made = new SessionService({ stores: createStores(dying) }).createSession({
    ...app,
    userId: "ada",
    sessionId: "s",
  });
  await Promise.race([made, dying.death]);
  const reader = new SessionService({ stores });
  expect(await idsOf(reader)).toEqual([]);
  await reader.flush();
  expect((await readDirectory(stores, ofApp)).notes.size).toBe(1);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_700_000 });
  try {
    expect(await idsOf(reader)).toEqual([]);
    await reader.flush();
    const [note] = (await readDirectory(stores, ofApp)).notes.values();
    expect(note?.removed).toBe(true);
  } finally {
    vi.useRealTimers();
  }
  await reader.createSession({ ...app, userId: "ada", sessionId: "s" });
  expect(await idsOf(new SessionService({ stores }))).toEqual(["s"]);
});
