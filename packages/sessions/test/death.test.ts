import { createStores, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { describe, expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { type Session, SessionService } from "../src/index.ts";
import { event, setting } from "./contract/values.ts";

const app = { appName: "app" };
const ada = { ...app, userId: "ada" };
const key = { ...ada, sessionId: "s" };
const serviceOn = (driver: Driver) => new SessionService({ stores: createStores(driver) });

/** Runs `work` with a service that dies after the given number of commits. Returns whether it died. */
async function dyingAfter(
  commits: number,
  driver: Driver,
  work: (service: SessionService, arm: () => void) => Promise<unknown>,
): Promise<boolean> {
  const watched = new WatchedDriver(driver);
  const done = work(serviceOn(watched), () => {
    watched.writesLeft = commits;
  });
  return await Promise.race([done.then(() => false), watched.death.then(() => true)]);
}

/** The session before the process died, and the driver from which the next process continues. */
interface Scene {
  readonly driver: Driver;
  /** The session as it was created. */
  readonly older: Session;
}

/** The calls with which the next process finds the session. */
const rescues: Record<string, (scene: Scene) => Promise<unknown>> = {
  get: ({ driver }) => serviceOn(driver).getSession(key),
  "get without events": ({ driver }) =>
    serviceOn(driver).getSession({ ...key, config: { numRecentEvents: 0 } }),
  "list of the user": ({ driver }) => serviceOn(driver).listSessions(ada),
  "list of the app": ({ driver }) => serviceOn(driver).listSessions(app),
  // Fails with CONFLICT if the dead process has appended, but completes that append.
  append: ({ driver, older }) =>
    serviceOn(driver)
      .appendEvent({ session: structuredClone(older), event: event() })
      .catch((error) => expect(error).toMatchObject({ code: "CONFLICT" })),
  async "append with reload"({ driver, older }) {
    const service = new SessionService({ stores: createStores(driver), staleWriter: "reload" });
    await service.appendEvent({ session: structuredClone(older), event: event() });
  },
};

describe.each(Object.keys(rescues))("a process dies while it appends, then: %s", (rescue) => {
  test.each([0, 1, 2, 3])(
    "after %i commits no event and no delta is lost or applied twice",
    async (commits) => {
      const driver = new MemoryDriver();
      const sessions = serviceOn(driver);
      const older = structuredClone(
        await sessions.createSession({ ...key, state: { "app:n": 0, "user:n": 0, n: 0 } }),
      );
      const died = await dyingAfter(commits, driver, async (service, arm) => {
        const session = await service.getSession(key);
        arm();
        if (session)
          await service.appendEvent({ session, event: setting({ n: 1, "app:n": 1, "user:n": 1 }) });
      });
      expect(died).toBe(commits < 3);
      await rescues[rescue]?.({ driver, older });
      const expected = commits === 0 ? 0 : 1;
      expect(await sessions.getAppState(app)).toEqual({ n: expected });
      expect(await sessions.getUserState(ada)).toEqual({ n: expected });
      const read = await sessions.getSession(key);
      expect(read?.state).toEqual({ n: expected, "app:n": expected, "user:n": expected });
      const added = rescue === "append with reload" || (rescue === "append" && commits === 0) ? 1 : 0;
      expect(read?.events).toHaveLength(expected + added);
    },
  );

  test.each([1, 2])(
    "after %i commits a value set since is not overwritten, and the others are set",
    async (commits) => {
      const driver = new MemoryDriver();
      const sessions = serviceOn(driver);
      const older = structuredClone(await sessions.createSession(key));
      const other = await sessions.createSession({ ...ada, sessionId: "other" });
      await dyingAfter(commits, driver, async (service, arm) => {
        const session = await service.getSession(key);
        arm();
        const delta = { "app:x": "dead", "app:y": "dead", "user:x": "dead", "user:y": "dead" };
        if (session) await service.appendEvent({ session, event: setting(delta, { timestamp: 9e9 }) });
      });
      await sessions.appendEvent({
        session: other,
        event: setting({ "app:x": "later", "user:x": "later" }, { timestamp: 1 }),
      });
      for (let round = 0; round < 3; round++) {
        await rescues[rescue]?.({ driver, older });
        expect(await sessions.getAppState(app)).toEqual({ x: "later", y: "dead" });
        expect(await sessions.getUserState(ada)).toEqual({ x: "later", y: "dead" });
      }
    },
  );

  test("an earlier value is replaced, also if the dead process had not read it", async () => {
    const driver = new MemoryDriver();
    const sessions = serviceOn(driver);
    const older = structuredClone(await sessions.createSession(key));
    const other = await sessions.createSession({ ...ada, sessionId: "other" });
    await dyingAfter(1, driver, async (service, arm) => {
      const session = await service.getSession(key);
      await sessions.appendEvent({
        session: other,
        event: setting({ "app:x": "earlier", "user:x": "earlier" }),
      });
      arm();
      if (session)
        await service.appendEvent({ session, event: setting({ "app:x": "dead", "user:x": "dead" }) });
    });
    await rescues[rescue]?.({ driver, older });
    expect(await sessions.getAppState(app)).toEqual({ x: "dead" });
    expect(await sessions.getUserState(ada)).toEqual({ x: "dead" });
  });
});

test("a slow process does not undo values set after its append was completed by another process", async () => {
  const driver = new MemoryDriver();
  const sessions = serviceOn(driver);
  await sessions.createSession(key);
  const other = await sessions.createSession({ ...ada, sessionId: "other" });
  const slow = new WatchedDriver(driver);
  let wake = () => {};
  const asleep = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const commit = slow.commit.bind(slow);
  slow.commit = async (request) => {
    if (/^sessions:(app|user):/.test(request.threadId)) await asleep;
    return await commit(request);
  };
  const service = serviceOn(slow);
  const session = await service.getSession(key);
  if (!session) throw new Error("it was created");
  const appended = service.appendEvent({ session, event: setting({ "app:x": "slow", "user:x": "slow" }) });
  await expect.poll(async () => (await sessions.getSession(key))?.events.length).toBe(1);
  expect(await sessions.getAppState(app)).toEqual({ x: "slow" });
  await sessions.appendEvent({ session: other, event: setting({ "app:x": "later", "user:x": "later" }) });
  wake();
  await appended;
  expect(await sessions.getAppState(app)).toEqual({ x: "later" });
  expect(await sessions.getUserState(ada)).toEqual({ x: "later" });
});

test("a completed delta is not applied again after any number of other writes", async () => {
  const driver = new MemoryDriver();
  const sessions = serviceOn(driver);
  const session = await sessions.createSession(key);
  const other = await sessions.createSession({ ...ada, sessionId: "other" });
  await sessions.appendEvent({ session, event: setting({ "app:x": "first" }) });
  for (let n = 0; n < 100; n++)
    await sessions.appendEvent({ session: other, event: setting({ "app:x": n }) });
  await serviceOn(driver).getSession(key);
  expect(await sessions.getAppState(app)).toEqual({ x: 99 });
});

test("values have the order of their appends, with a process' clock one hour off", async () => {
  const driver = new MemoryDriver();
  const realNow = Date.now;
  try {
    // Each service has its own modules, as in separate processes.
    const services: SessionService[] = [];
    for (const _process of ["fast", "slow"]) {
      vi.resetModules();
      const modules = await import("../src/index.ts");
      services.push(new modules.SessionService({ stores: createStores(driver) }));
    }
    const made: Session[] = [];
    for (const [n, service] of services.entries()) {
      made.push(await service.createSession({ ...ada, sessionId: String(n) }));
    }
    for (let n = 0; n < 6; n++) {
      Date.now = () => realNow() + (n % 2 === 0 ? 3_600_000 : -3_600_000);
      const session = made[n % 2];
      if (session) await services[n % 2]?.appendEvent({ session, event: setting({ "app:n": n }) });
      // A reader has no pending deltas to apply.
      for (const sessionId of ["0", "1"]) await serviceOn(driver).getSession({ ...ada, sessionId });
      expect(await serviceOn(driver).getAppState(app)).toEqual({ n });
    }
  } finally {
    Date.now = realNow;
  }
});

test("a dead process' delta for the app and the user is applied, also if its session is deleted", async () => {
  const driver = new MemoryDriver();
  const sessions = serviceOn(driver);
  await sessions.createSession(key);
  await dyingAfter(1, driver, async (service, arm) => {
    const session = await service.getSession(key);
    arm();
    if (session) await service.appendEvent({ session, event: setting({ "app:n": 1, "user:n": 1 }) });
  });
  await serviceOn(driver).deleteSession(key);
  expect(await sessions.getAppState(app)).toEqual({ n: 1 });
  expect(await sessions.getUserState(ada)).toEqual({ n: 1 });
});

describe("a process dies while it creates a session", () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7])(
    "after %i writes it exists completely or not at all, and can be created",
    async (commits) => {
      const driver = new MemoryDriver();
      const state = { own: 1, "app:a": 1, "user:u": 1 };
      const died = await dyingAfter(commits, driver, async (service, arm) => {
        arm();
        await service.createSession({ ...key, state });
      });
      // Two entries, the session, the states of the app and the user, and the two entries again.
      expect(died).toBe(commits < 7);
      const sessions = serviceOn(driver);
      const isThere = commits > 2;
      const read = await sessions.getSession(key);
      expect(read?.state).toEqual(isThere ? state : undefined);
      expect((await sessions.listSessions(ada)).sessions).toHaveLength(isThere ? 1 : 0);
      expect(await sessions.getAppState(app)).toEqual(isThere ? { a: 1 } : {});
      expect((await sessions.getOrCreateSession({ ...key, state })).state).toEqual(state);
      expect((await sessions.listSessions(ada)).sessions).toHaveLength(1);
    },
  );
});

describe("a process dies while it updates a session", () => {
  test.each([0, 1, 2, 3, 4])("after %i commits all of the update is set or nothing", async (commits) => {
    const driver = new MemoryDriver();
    const sessions = serviceOn(driver);
    await sessions.createSession({ ...key, title: "Before" });
    const died = await dyingAfter(commits, driver, async (service, arm) => {
      arm();
      await service.updateSession({ ...key, title: "After", state: { n: 1, "app:n": 1, "user:n": 1 } });
    });
    // Its last request is a read.
    expect(died).toBe(commits <= 3);
    const read = await serviceOn(driver).getSession(key);
    const isSet = commits > 0;
    expect(read?.title).toBe(isSet ? "After" : "Before");
    expect(read?.state).toEqual(isSet ? { n: 1, "app:n": 1, "user:n": 1 } : {});
    expect(await sessions.getAppState(app)).toEqual(isSet ? { n: 1 } : {});
  });

  test("a dead process' delta for the app and the user is applied, also if the session is updated next", async () => {
    const driver = new MemoryDriver();
    const sessions = serviceOn(driver);
    await sessions.createSession(key);
    await dyingAfter(1, driver, async (service, arm) => {
      const session = await service.getSession(key);
      arm();
      if (session) await service.appendEvent({ session, event: setting({ "app:n": 1, "user:n": 1 }) });
    });
    await serviceOn(driver).updateSession({ ...key, title: "After", state: { "app:m": 2 } });
    expect(await sessions.getAppState(app)).toEqual({ n: 1, m: 2 });
    expect(await sessions.getUserState(ada)).toEqual({ n: 1 });
  });
});

describe("a process dies while it deletes a session", () => {
  test.each([0, 1, 2, 3, 4, 5])(
    "after %i writes it exists completely or not at all, and can be created again",
    async (commits) => {
      const driver = new MemoryDriver();
      const sessions = serviceOn(driver);
      const session = await sessions.createSession({ ...key, state: { own: 1 } });
      await sessions.appendEvent({ session, event: event() });
      await dyingAfter(commits, driver, async (service, arm) => {
        arm();
        await service.deleteSession(key);
      });
      // Its two entries are closed first.
      const isThere = commits < 3;
      const reader = serviceOn(driver);
      expect((await reader.getSession(key))?.events.length).toBe(isThere ? 1 : undefined);
      expect((await reader.listSessions(ada)).sessions).toHaveLength(isThere ? 1 : 0);
      await reader.deleteSession(key);
      expect((await reader.createSession(key)).state).toEqual({});
      expect((await reader.listSessions(ada)).sessions).toHaveLength(1);
      expect((await reader.listSessions(app)).sessions).toHaveLength(1);
    },
  );
});
