import { pause, StoreError } from "@scrollback/store-core";
import type { Listed } from "./directories.ts";
import { parseToken } from "./page-token.ts";
import type { Position } from "./position.ts";
import type { SessionKey } from "./session.ts";
import { readSession, type SessionView } from "./session-thread.ts";
import { refuseCreations, type WriteParts } from "./session-writes.ts";
import { threads } from "./threads.ts";

const MAX_ATTEMPTS = 20;
const DELETED_AT_ONCE = 8;

/**
 * Deletes a session, readable or not. A missing one is not an error.
 *
 * @param listed the session as its list has it, if known: it tells what the lists have of an unreadable session.
 */
export async function deleteSession(parts: WriteParts, key: SessionKey, listed?: Listed): Promise<void> {
  const { stores, directories } = parts;
  const { appName, userId, sessionId } = key;
  const threadId = threads.session(appName, userId, sessionId);
  const view = await readSession(stores, threadId, 0).catch(ifUnreadable);
  const remove = ({ time, incarnation, events }: Omit<Listed, keyof SessionKey>) =>
    directories.noteNow(appName, {
      time,
      sessionId,
      userId,
      incarnation,
      events,
      was: [time],
      removed: true,
    });
  if (view === undefined) {
    await stores.deleteThread(threadId);
    if (listed) await remove(listed);
    return;
  }
  if (view.head === undefined) {
    // The content of an expired session may still be stored. A session that was created since stays.
    if (view.revision === null)
      await stores.deleteThread(threadId, { expectedRevision: null }).catch((error) => {
        if (!StoreError.is(error, "CONFLICT")) throw error;
      });
    // Its metadata may be there, but unreadable.
    else await refuseCreations(stores, key);
    return;
  }
  await deleteThread(parts, key, view);
  await remove({ ...view.head, time: view.head.lastUpdateTime });
}

/** Deletes the thread of a session after its pending values, which belong to the app and the user, are applied. */
async function deleteThread(
  { stores, appender }: WriteParts,
  key: SessionKey,
  view: SessionView,
): Promise<void> {
  const remove = () => stores.deleteThread(threads.session(key.appName, key.userId, key.sessionId));
  try {
    await appender.finish(key, view);
  } catch (error) {
    if (concernsAll(error)) throw error;
    // The database is full, or the state is damaged. Neither protects the session. Its space may be enough for the values.
    await remove();
    await appender.finish(key, view).catch(ifUnreadable);
    return;
  }
  await remove();
}

/**
 * Deletes all sessions of a user of an app, the state of the user, and the list of the user's sessions.
 *
 * @throws the error of the first session that cannot be deleted, after the others and the state are.
 */
export async function deleteUser(
  parts: WriteParts,
  { appName, userId }: Omit<SessionKey, "sessionId">,
): Promise<void> {
  const { stores, directories, clock } = parts;
  const state = threads.user(appName, userId);
  const refuse = ({ sessionId }: Position) => refuseCreations(stores, { appName, userId, sessionId });
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    for (;;) {
      const { isAny, failures } = await deleteListed(parts, appName, userId);
      if (failures.length > 0) {
        await stores.deleteThread(state);
        throw failures[0];
      }
      if (!isAny) break;
    }
    await directories.flush();
    const look = async ({ sessionId }: Position) => {
      const view = await readSession(stores, threads.session(appName, userId, sessionId), 0);
      return view.head && { head: view.head };
    };
    if (await directories.remove(threads.directoryOfUser(appName, userId), look, refuse)) {
      await directories.sortNotes(appName);
      return await stores.deleteThread(state);
    }
    await pause(attempt, undefined, clock);
  }
  throw new StoreError("CONFLICT", "deleteUser: other processes create sessions of the user; call it again");
}

/** Deletes the sessions of all pages of a user's list. */
async function deleteListed(
  parts: WriteParts,
  appName: string,
  userId: string,
): Promise<{ readonly isAny: boolean; readonly failures: readonly unknown[] }> {
  const { stores, directories } = parts;
  const order = "desc";
  let isAny = false;
  const failures: unknown[] = [];
  const remove = async (sessionId: string, listed?: Listed) => {
    try {
      await deleteSession(parts, { appName, userId, sessionId }, listed);
    } catch (error) {
      if (concernsAll(error)) throw error;
      failures.push(error);
    }
  };
  let next: string | undefined;
  do {
    const after = next === undefined ? undefined : parseToken(order, next);
    const page = await directories.page(
      threads.directoryOfUser(appName, userId),
      { order, after, limit: DELETED_AT_ONCE },
      async (listed) => {
        const { sessionId } = listed;
        const threadId = threads.session(appName, userId, sessionId);
        const view = await readSession(stores, threadId, 0).catch(ifUnreadable);
        if (view === undefined) await remove(sessionId, listed);
        return view?.head && { head: view.head, sessionId };
      },
      ({ sessionId }) => refuseCreations(stores, { appName, userId, sessionId }),
    );
    next = page.nextPageToken;
    isAny ||= page.sessions.length > 0;
    await Promise.all(page.sessions.map(({ sessionId }) => remove(sessionId)));
  } while (next !== undefined);
  return { isAny, failures };
}

/** The result of a read that failed because the thread is damaged. Throws any other error. */
export function ifUnreadable(error: unknown): undefined {
  if (!StoreError.is(error, "CORRUPT")) throw error;
}

/** Whether an error is an outage or the end of the stores, so that no other session could be deleted either. */
function concernsAll(error: unknown): boolean {
  return !StoreError.is(error) || error.retryable || error.code === "CLOSED";
}
