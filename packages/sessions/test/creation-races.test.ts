import { createStores, MemoryDriver, systemClock } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { type SessionClock, systemSessionClock } from "../src/clock.ts";
import { SessionService } from "../src/index.ts";

const key = { appName: "app", userId: "ada", sessionId: "s" };

/** A clock that is several hours ahead. */
const ahead = (hours: number): SessionClock => ({
  ...systemSessionClock,
  wall: () => systemClock.wall() + hours * 3_600_000,
});

test("a session is listed if its creation took longer than entries without a session are kept", async () => {
  const driver = new MemoryDriver();
  const slow = createStores(driver);
  const stores = createStores(driver);
  const later = new SessionService({ stores, clock: ahead(2) });
  let isFirst = true;
  const creating = new SessionService({
    stores: {
      ...slow,
      withTraits: () => ({
        ...slow,
        open(threadId) {
          const store = slow.open(threadId);
          const commit = store.commit.bind(store);
          store.commit = async (change, options) => {
            if (isFirst && threadId?.startsWith("sessions:session:")) {
              isFirst = false;
              // Another service lists after the note of the session but before its creation, and drops the note.
              expect((await later.listSessions({ appName: "app" })).sessions).toEqual([]);
              await later.flush();
            }
            return await commit(change, options);
          };
          return store;
        },
      }),
    } as typeof slow,
  });
  await creating.createSession(key);
  for (const service of [later, new SessionService({ stores })]) {
    for (const request of [{ appName: "app" }, { appName: "app", userId: "ada" }]) {
      const { sessions } = await service.listSessions(request);
      expect(sessions.map(({ id }) => id)).toEqual(["s"]);
    }
  }
});
