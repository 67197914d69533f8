import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, test } from "vitest";
import { type Session, SessionService } from "../src/index.ts";
import { threads } from "../src/threads.ts";
import { event, setting } from "./contract/values.ts";

const app = { appName: "app" };
const ada = { ...app, userId: "ada" };
const key = { ...ada, sessionId: "s" };

let stores: StoreFactory;
let session: Session;
beforeEach(async () => {
  stores = createMemoryStores();
  const sessions = new SessionService({ stores });
  session = await sessions.createSession({ ...key, state: { "app:a": 1, "user:u": 1, own: 1 } });
  await sessions.createSession(ada);
});

const service = () => new SessionService({ stores });
const calls = {
  get: () => service().getSession(key),
  getOrCreate: () => service().getOrCreateSession(key),
  create: () => service().createSession(key),
  list: () => service().listSessions({ ...app, limit: 100 }),
  append: () => service().appendEvent({ session, event: event() }),
  "append for the app": () => service().appendEvent({ session, event: setting({ "app:a": 2 }) }),
  "append for the user": () => service().appendEvent({ session, event: setting({ "user:u": 2 }) }),
  "state of the app": () => service().getAppState(app),
  "state of the user": () => service().getUserState(ada),
};
type Call = keyof typeof calls;

/** The threads with a format version, and the calls that read them. */
const formats: Record<string, { threadId: string; met: readonly Call[] }> = {
  session: {
    threadId: threads.session("app", "ada", "s"),
    met: ["get", "getOrCreate", "create", "append"],
  },
  "state of an app": {
    threadId: threads.app("app"),
    met: ["get", "getOrCreate", "create", "list", "append for the app", "state of the app"],
  },
  "state of a user": {
    threadId: threads.user("app", "ada"),
    met: ["get", "getOrCreate", "create", "append for the user", "state of the user"],
  },
};
const cases = Object.entries(formats).flatMap(([name, { threadId, met }]) =>
  met.map((call) => ({ name, threadId, call })),
);

describe.each([
  { written: "by a newer version", code: "UNSUPPORTED", said: /version 2.*reads up to 1.*upgrade/ },
  { written: "by something else", code: "CORRUPT", said: /not a Scrollback/ },
])("data written $written", ({ code, said }) => {
  test.each(cases)(
    "$name: $call fails with the reason, and does not change it",
    async ({ threadId, call }) => {
      const store = stores.open(threadId);
      const { metadata } = await store.read();
      const foreign = code === "UNSUPPORTED" ? { ...Object(metadata), version: 2 } : { own: 1 };
      await store.commit({ metadata: foreign });
      const before = await store.read();
      await expect(calls[call]()).rejects.toMatchObject({ code, message: expect.stringMatching(said) });
      const { entries, metadata: after } = await store.read();
      expect(after).toEqual(before.metadata);
      expect(entries).toEqual(before.entries);
    },
  );
});
