import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { beforeEach, describe, expect, test } from "vitest";
import { event, setting } from "../src/contract/values.ts";
import { type Session, SessionService } from "../src/index.ts";
import { threads } from "../src/threads.ts";
import { compact } from "./listed.ts";

const app = { appName: "app" };
const ada = { ...app, userId: "ada" };
const key = { ...ada, sessionId: "s" };
const directory = threads.directoryOfApp("app");

let stores: StoreFactory;
let session: Session;
beforeEach(async () => {
  stores = createMemoryStores();
  const sessions = new SessionService({ stores });
  session = await sessions.createSession({ ...key, state: { "app:a": 1, "user:u": 1, own: 1 } });
  for (let n = 0; n < 128; n++) await sessions.createSession(ada);
  await sessions.flush();
  await compact(stores, directory);
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
  delete: () => service().deleteSession(key),
  "state of the app": () => service().getAppState(app),
  "state of the user": () => service().getUserState(ada),
};
type Call = keyof typeof calls;

/** The threads with a format version, and the calls that read them. */
const formats: Record<string, { threadId: string; met: readonly Call[] }> = {
  session: {
    threadId: threads.session("app", "ada", "s"),
    met: ["get", "getOrCreate", "create", "append", "delete"],
  },
  "state of an app": {
    threadId: threads.app("app"),
    met: ["get", "getOrCreate", "create", "list", "append for the app", "state of the app"],
  },
  "state of a user": {
    threadId: threads.user("app", "ada"),
    met: ["get", "getOrCreate", "create", "list", "append for the user", "state of the user"],
  },
  directory: { threadId: directory, met: ["list"] },
};
const cases = Object.entries(formats).flatMap(([name, { threadId, met }]) =>
  met.map((call) => ({ name, threadId, call })),
);

describe.each([
  { written: "by a newer version", code: "UNSUPPORTED", said: /version 2.*reads up to 1.*upgrade/ },
  { written: "by something else", code: "CORRUPT", said: /not a Scrollback/ },
])("data written $written", ({ code, said }) => {
  // Damage neither protects a session from deletion, nor hides those of other users.
  const isRefused = ({ name, call }: (typeof cases)[number]) =>
    code === "UNSUPPORTED" || !["session: delete", "state of a user: list"].includes(`${name}: ${call}`);
  test.each(cases.filter(isRefused))(
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
      if (threadId !== directory) expect(entries).toEqual(before.entries);
    },
  );
});

test("the notes of a directory of a newer version are not compacted", async () => {
  const store = stores.open(directory);
  const { metadata } = await store.read();
  await store.commit({ metadata: { ...Object(metadata), version: 2 } });
  for (let n = 0; n < 128; n++) await service().createSession(ada);
  const before = await store.read();
  await expect(compact(stores, directory)).rejects.toMatchObject({ code: "UNSUPPORTED" });
  expect(await store.read()).toEqual(before);
});
