import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { StoreFactory } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { type Session, SessionService } from "../src/index.ts";
import { event, setting } from "./contract/values.ts";
import { app, events, factsOf, rome } from "./golden/scene.ts";

const folder = join(import.meta.dirname, "golden");

describe("sessions of format 1", () => {
  const facts: Awaited<ReturnType<typeof factsOf>> = JSON.parse(
    readFileSync(join(folder, "sessions-1.json"), "utf8"),
  );
  let stores: StoreFactory;
  let sessions: SessionService;
  beforeEach(() => {
    const url = scratchUrl();
    copyFileSync(join(folder, "sessions-1.sqlite"), url.slice("sqlite:".length));
    stores = createSqliteStores({ url });
    sessions = new SessionService({ stores });
  });
  afterEach(async () => {
    await sessions.flush();
    await stores.close();
  });
  /** The session as an earlier version returned it. */
  const given = () => structuredClone(facts.session) as Session;

  test("are read and listed unchanged, and a dead process' append is completed", async () => {
    expect(await factsOf(sessions)).toEqual(facts);
    const read = await sessions.getSession(rome);
    expect(read?.events).toEqual(
      events.map((one) => (one.id === "2" ? { ...one, actions: expect.anything() } : one)),
    );
    expect(read?.state["user:since"]).toEqual(new Date(0));
  });

  test("are paged from tokens returned earlier", async () => {
    for (const [order, ids] of [
      ["desc", facts.behindNewest],
      ["asc", facts.behindOldest],
    ] as const) {
      const pageToken = facts.tokens[order];
      const page = await sessions.listSessions({ ...app, order, pageToken, limit: 100 });
      expect(page.sessions.map(({ id }) => id)).toEqual(ids.slice(0, 100));
    }
  });

  test("accept appends through session objects returned earlier, and recognise their events", async () => {
    const session = given();
    for (const one of events) await sessions.appendEvent({ session, event: structuredClone(one) });
    expect(session.events).toHaveLength(5);
    await sessions.appendEvent({ session, event: setting({ "app:new": 1, own: 5 }, { id: "6" }) });
    const read = await new SessionService({ stores }).getSession(rome);
    expect(read?.events.map(({ id }) => id)).toEqual(["1", "2", "3", "4", "5", "6"]);
    expect(read?.state).toMatchObject({ own: 5, "app:new": 1, "app:pending": 2, "user:pending": 3 });
  });

  test("are deleted and created again, and others beside them", async () => {
    await sessions.deleteSession(rome);
    for (let n = 0; n < 128; n++) {
      const session = await sessions.createSession({ ...app, userId: "new" });
      if (n % 2) await sessions.appendEvent({ session, event: event({ timestamp: n }) });
    }
    const { sessions: oldest } = await sessions.listSessions({ ...app, order: "asc", limit: 100 });
    expect(oldest.slice(64).map(({ id }) => id)).toEqual(facts.oldest.slice(0, 36));
    expect((await sessions.createSession(rome)).state).toMatchObject({ "app:greeting": "Hoi" });
  });
});
