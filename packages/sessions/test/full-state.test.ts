import { aesGcmCodec } from "@scrollback/store-core/codecs";
import { createStores, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { type Session, SessionService } from "../src/index.ts";
import { event, setting } from "./contract/values.ts";

const app = { appName: "app" };
const ada = { ...app, userId: "ada" };
const key = { ...ada, sessionId: "s" };
const bob = { ...app, userId: "bob", sessionId: "b" };
const serviceOn = (driver: Driver) => new SessionService({ stores: createStores(driver) });
const tooLarge = {
  name: "StoreError",
  code: "TOO_LARGE",
  message: expect.stringMatching(/state of the app/),
};
const half = "x".repeat(150_000);

/** Expects every call for a session to succeed in a process with empty caches. */
async function expectUsable(make: () => SessionService): Promise<void> {
  const read = await make().getSession(key);
  expect(read?.id).toBe("s");
  expect((await make().listSessions(app)).sessions.map(({ id }) => id).sort()).toEqual(["b", "s"]);
  expect((await make().listSessions(ada)).sessions).toHaveLength(1);
  if (read) await make().appendEvent({ session: read, event: event() });
  await make().deleteSession(key);
  expect(await make().getSession(key)).toBeUndefined();
  expect((await make().listSessions(app)).sessions.map(({ id }) => id)).toEqual(["b"]);
}

describe.each(["app", "user"])("the state of the %s", (scope) => {
  const refused = { ...tooLarge, message: expect.stringMatching(`state of the ${scope}`) };

  test("includes all stored data in its size: many small keys are rejected before anything is written", async () => {
    const driver = new MemoryDriver();
    const sessions = serviceOn(driver);
    const session = await sessions.createSession(key);
    await sessions.createSession(bob);
    const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`${scope}:k${n}`, 1]));
    const before = await sessions.getSession(key);
    await expect(sessions.appendEvent({ session, event: setting(many) })).rejects.toMatchObject(refused);
    expect(await serviceOn(driver).getSession(key)).toEqual(before);
    const other = { ...ada, sessionId: "t" };
    await expect(sessions.createSession({ ...other, state: many })).rejects.toMatchObject(refused);
    expect(await sessions.getSession(other)).toBeUndefined();
    await expectUsable(() => serviceOn(driver));
  });

  test("is measured as it is stored, not as a process remembers it", async () => {
    const driver = new MemoryDriver();
    const [one, two] = [serviceOn(driver), serviceOn(driver)];
    const session = await one.createSession(key);
    const other = await two.createSession({ ...ada, sessionId: "b" });
    await one.appendEvent({ session, event: setting({ [`${scope}:first`]: half }) });
    const second = setting({ [`${scope}:second`]: half });
    await expect(two.appendEvent({ session: other, event: second })).rejects.toMatchObject(refused);
    expect((await one.getSession({ ...ada, sessionId: "b" }))?.events).toEqual([]);
  });

  test("has room again after another process reduced it, also if this process remembers it as full", async () => {
    const driver = new MemoryDriver();
    const [one, two] = [serviceOn(driver), serviceOn(driver)];
    const session = await one.createSession(key);
    await one.appendEvent({ session, event: setting({ [`${scope}:full`]: "x".repeat(196_000) }) });
    const other = await two.getSession(key);
    if (!other) throw new Error("it was created");
    await two.appendEvent({ session: other, event: setting({ [`${scope}:full`]: null }) });
    await expect(
      one.appendEvent({ session: other, event: setting({ [`${scope}:more`]: "x".repeat(2_000) }) }),
    ).resolves.toBeDefined();
  });

  test("is measured as the codec encodes it", async () => {
    const driver = new MemoryDriver();
    const codec = aesGcmCodec({ keys: [{ id: "k", key: new Uint8Array(32).fill(7) }] });
    const make = () => new SessionService({ stores: createStores(driver, { codec }) });
    const sessions = make();
    const session = await sessions.createSession(key);
    await sessions.createSession(bob);
    const large = setting({ [`${scope}:large`]: "x ".repeat(97_500) });
    await expect(sessions.appendEvent({ session, event: large })).rejects.toMatchObject(refused);
    expect((await make().getSession(key))?.events).toEqual([]);
    await sessions.appendEvent({ session, event: setting({ [`${scope}:fits`]: "x ".repeat(70_000) }) });
    await expectUsable(make);
  });

  test("can be reduced when it is over its limit", async () => {
    const driver = new MemoryDriver();
    const services = Array.from({ length: 20 }, () => serviceOn(driver));
    const sessions = await Promise.all(
      services.map((service, n) => service.createSession({ ...ada, sessionId: String(n) })),
    );
    const [first] = sessions;
    if (!first) throw new Error("it was created");
    await services[0]?.appendEvent({
      session: first,
      event: setting({ [`${scope}:full`]: "x".repeat(196_000) }),
    });
    // Each service remembers an empty state.
    for (const [n, session] of sessions.entries()) {
      const small = setting({ [`${scope}:${n}`]: "x".repeat(1_000) });
      if (n > 0) await services[n]?.appendEvent({ session, event: small });
    }
    const [service] = services;
    const full = setting({ [`${scope}:more`]: "x".repeat(10_000) });
    await expect(service?.appendEvent({ session: first, event: full })).rejects.toMatchObject(refused);
    await service?.appendEvent({
      session: first,
      event: setting({ [`${scope}:full`]: "x".repeat(190_000) }),
    });
    await service?.appendEvent({ session: first, event: setting({ [`${scope}:full`]: null }) });
    await service?.appendEvent({ session: first, event: full });
  });
});

describe("two processes that fill the state of the app concurrently", () => {
  /** Appends an event to each of two sessions. Both events fit when their size is checked. Returns the two outcomes. */
  async function fillTogether(driver: MemoryDriver) {
    let arrived = 0;
    let open = () => {};
    const both = new Promise<void>((resolve) => {
      open = resolve;
    });
    const appends = [key, bob].map(async (place, n) => {
      const watched = new WatchedDriver(driver);
      const service = serviceOn(watched);
      const session = await service.createSession(place);
      const commit = watched.commit.bind(watched);
      watched.commit = async (request) => {
        if (request.threadId.startsWith("sessions:session:")) {
          arrived += 1;
          if (arrived === 2) open();
          await both;
        }
        // The other process's delta is written first.
        if (n === 0 && request.threadId.startsWith("sessions:app:"))
          await expect
            .poll(async () => (await driver.read({ ...request, limit: 0, metadata: true } as never)).metadata)
            .toContain("second");
        return await commit(request);
      };
      const delta = { [n === 0 ? "app:first" : "app:second"]: half, own: n };
      await service.appendEvent({ session, event: setting(delta, { id: `event-of-${n}` }) });
    });
    return await Promise.allSettled(appends);
  }

  test("reject the later one, and later calls succeed", async () => {
    const driver = new MemoryDriver();
    const [first, second] = await fillTogether(driver);
    expect(second).toMatchObject({ status: "fulfilled" });
    expect(first).toMatchObject({ status: "rejected", reason: tooLarge });
    const read = await serviceOn(driver).getSession(key);
    expect(read?.events.map(({ id }) => id)).toEqual(["event-of-0"]);
    expect(read?.state).toEqual({ own: 0, "app:second": half });
    await expectUsable(() => serviceOn(driver));
    expect(Object.keys(await serviceOn(driver).getAppState(app))).toEqual(["second"]);
  });

  test("apply the rejected value when there is room again, while its event is the newest", async () => {
    const driver = new MemoryDriver();
    await fillTogether(driver);
    const service = serviceOn(driver);
    const session = await service.getSession(bob);
    if (session) await service.appendEvent({ session, event: setting({ "app:second": null }) });
    expect((await serviceOn(driver).getSession(key))?.state["app:first"]).toBe(half);
    expect(await service.getAppState(app)).toEqual({ first: half, second: null });
  });
});

test("a rejected event can be reduced and appended with the same id", async () => {
  const sessions = serviceOn(new MemoryDriver());
  const session: Session = await sessions.createSession(key);
  const refused = setting({ "app:a": "x".repeat(300_000) }, { id: "one" });
  await expect(sessions.appendEvent({ session, event: refused })).rejects.toMatchObject(tooLarge);
  await sessions.appendEvent({ session, event: setting({ "app:a": 1 }, { id: "one" }) });
  expect(await sessions.getAppState(app)).toEqual({ a: 1 });
});
