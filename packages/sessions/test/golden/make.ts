/**
 * `node test/golden/make.ts` writes a database with sessions in the current format, and the results that callers got for them.
 * It runs once per version of the format, and never overwrites a file, because users have stored sessions like these.
 */
import { constants, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MessageStore } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { SessionService } from "../../src/index.ts";
import { app, events, factsOf, rome } from "./scene.ts";

const directory = mkdtempSync(join(tmpdir(), "scrollback-golden-"));
const path = join(directory, "chats.db");
const stores = createSqliteStores({ url: `sqlite:${path}` });
let made = 1_700_000_000;
const sessions = new SessionService({ stores, now: () => made++ });

await sessions.createSession({
  ...rome,
  title: "Rome",
  state: { "app:greeting": "Hallo", "user:since": new Date(0), own: 1 },
});
const many = Array.from({ length: 140 }, (_, n) => ({
  ...app,
  userId: n % 2 ? "ada" : "bob",
  sessionId: `s${n}`,
}));
for (const key of many.slice(0, 130)) await sessions.createSession(key);
for (const key of many.slice(0, 130)) {
  const session = await sessions.getSession(key);
  const event = { id: "1", author: "user", timestamp: made++, content: "Hi" };
  if (session) await sessions.appendEvent({ session, event });
}
for (const key of many.slice(130)) await sessions.createSession(key);
for (const key of many.slice(0, 5)) await sessions.deleteSession(key);
for (const event of events.slice(0, 3)) {
  const session = await sessions.getSession(rome);
  if (session) await sessions.appendEvent({ session, event });
}

/** A process that dies before it writes its event's state of the app and the user. */
const dying = {
  settings: stores.settings,
  withTraits: () => ({ ...stores, open: (threadId?: string) => dead(stores.open(threadId)) }) as never,
};
function dead(store: MessageStore): MessageStore {
  if (!/^sessions:(app|user):/.test(store.threadId)) return store;
  return Object.assign(Object.create(store), {
    read: store.read.bind(store),
    commit: () => Promise.reject(new Error("dead")),
  });
}
for (const event of events.slice(3)) {
  const session = await sessions.getSession(rome);
  const service = new SessionService({ stores: dying });
  await service.appendEvent({ session: session as never, event }).catch(() => {});
  await service.flush();
}
await sessions.flush();
const copy = join(directory, "copy.db");
// The results are read from a copy, because a read completes the writes of the dead process.
await stores.close();
copyFileSync(path, copy);
const copied = createSqliteStores({ url: `sqlite:${copy}` });
const facts = await factsOf(new SessionService({ stores: copied }));
await copied.close();
copyFileSync(path, join(import.meta.dirname, "sessions-1.sqlite"), constants.COPYFILE_EXCL);
const text = `${JSON.stringify(facts, null, 2)}\n`;
writeFileSync(join(import.meta.dirname, "sessions-1.json"), text, { flag: "wx" });
rmSync(directory, { recursive: true });
