import { pause, type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import type { Appender } from "./appender.ts";
import type { SessionClock, Stamps } from "./clock.ts";
import type { Directories } from "./directories.ts";
import type { Scopes } from "./scopes.ts";
import type { SessionKey } from "./session.ts";
import {
  explained,
  type Head,
  missing,
  readSession,
  type SessionView,
  updatedHead,
} from "./session-thread.ts";
import type { SharedStates } from "./shared-state.ts";
import { threads } from "./threads.ts";

/** A creation that is slower than this, 30 days, may succeed although it was refused. */
const REFUSED_MS = 30 * 86_400_000;
const MAX_CREATE_ATTEMPTS = 20;
const MAX_UPDATE_ATTEMPTS = 1_000;

/** The dependencies of writes without an event. */
export interface WriteParts {
  readonly stores: StoreFactory;
  readonly shared: SharedStates;
  readonly directories: Directories;
  readonly clock: SessionClock;
  readonly stamps: Stamps;
  readonly appender: Appender;
}

/**
 * Writes the head of a new session. Notes the session first: a note without a session does no harm, but a session without a
 * note would not be listed.
 *
 * @throws StoreError `CONFLICT` if the session exists.
 */
export async function createThread(
  { stores, directories, clock }: WriteParts,
  { appName, userId, sessionId }: SessionKey,
  createHead: () => Head,
): Promise<Pick<SessionView, "revision" | "head">> {
  const store = stores.open(threads.session(appName, userId, sessionId));
  let expectedRevision: Revision | null = null;
  for (let attempt = 0; ; attempt++) {
    // Each attempt has its own incarnation and note: the note of the previous attempt may have been removed.
    const head = createHead();
    const { incarnation, events, lastUpdateTime: time } = head;
    await directories.noteNow(appName, { time, sessionId, userId, incarnation, events, was: [] });
    try {
      const revision = String(await store.commit({ metadata: head }, { expectedRevision }));
      return { revision, head };
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_CREATE_ATTEMPTS)
        throw explained("createSession", error, head, stores);
    }
    const view = await readSession(stores, store.threadId, 0);
    if (view.head !== undefined) {
      const { incarnation: owner, events: count, lastUpdateTime } = view.head;
      const was = [time, lastUpdateTime];
      directories.note(appName, {
        time: lastUpdateTime,
        sessionId,
        userId,
        incarnation: owner,
        events: count,
        was,
      });
      throw new StoreError("CONFLICT", `createSession: sessionId "${sessionId}" already exists`);
    }
    // A session existed and was deleted, or creations were refused.
    expectedRevision = view.revision;
    await pause(0, undefined, clock);
  }
}

/**
 * Makes running creations of a session conflict, so that they start over with a new note. Also removes what an expired session has
 * left. Resolves to false if the session exists.
 */
export async function refuseCreations(stores: StoreFactory, key: SessionKey): Promise<boolean> {
  const threadId = threads.session(key.appName, key.userId, key.sessionId);
  const { head, revision } = await readSession(stores, threadId, 0);
  if (head !== undefined) return false;
  const store = stores.open(threadId, { ttlMs: REFUSED_MS });
  try {
    if (revision === null) await stores.deleteThread(threadId, { expectedRevision: null });
    // Creations expect a revision that the thread does not have then.
    await store.clear({ expectedRevision: revision });
    return true;
  } catch (error) {
    if (StoreError.is(error, "CONFLICT")) return false;
    throw error;
  }
}

/**
 * Sets the title and values of a session. Retries when another writer was first.
 *
 * @throws StoreError `NOT_FOUND` if the session does not exist, `TOO_LARGE`.
 */
export async function updateThread(
  { stores, shared, directories, appender, clock, stamps }: WriteParts,
  key: SessionKey,
  { title, delta }: { readonly title: string | null | undefined; readonly delta: Scopes },
): Promise<Pick<SessionView, "revision" | "head">> {
  const store = stores.open(threads.session(key.appName, key.userId, key.sessionId));
  for (let attempt = 0; ; attempt++) {
    const view = await readSession(stores, store.threadId, 0);
    if (view.head === undefined) throw missing("updateSession", key);
    await appender.finish(key, view);
    const base = await shared.basisOf("updateSession", key, delta);
    const known = Math.max(base.app?.content.clock ?? 0, base.user?.content.clock ?? 0);
    const head = updatedHead(view.head, title, delta, stamps.next(known));
    let revision: Revision;
    try {
      revision = String(await store.commit({ metadata: head }, { expectedRevision: view.revision }));
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_UPDATE_ATTEMPTS)
        throw explained("updateSession", error, head, stores);
      await pause(Math.min(attempt, 3), undefined, clock);
      continue;
    }
    directories.noteWritten(key, head, view.head);
    await appender.written(key, { revision, head }, base);
    return { revision, head };
  }
}
