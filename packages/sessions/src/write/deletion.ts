import { concernsAll, ifReadable } from "@scrollback/collections/internal";
import { type ListedSession, memberOf, sessionOfNames } from "../read/session-lists.ts";
import type { SessionKey } from "../session.ts";
import { indexes, threads } from "../threads.ts";
import type { WriteParts } from "./session-writes.ts";

/** The number of sessions that a list returns in one request. */
const PAGE = 100;
const MAX_PASSES = 20;
/** Pauses after conflicts with other writers grow this often, to 200 ms. */
const LONGEST_PAUSE = 3;

/**
 * Deletes a session, readable or not, after its pending values, which belong to the app and the user, are applied. A missing one is not
 * an error.
 */
export async function deleteSession({ stores, lists, appender }: WriteParts, key: SessionKey): Promise<void> {
  let isBusy = false;
  let unfinished: ListedSession | undefined;
  const clear = async (session: ListedSession | "unreadable") => {
    unfinished = undefined;
    if (session === "unreadable") return;
    // A writer that is faster than this is alive. Its values are then applied after the deletion, so that there is one.
    if (isBusy) unfinished = session;
    else
      await appender.finish(key, session).catch((error) => {
        if (concernsAll(error)) throw error;
        // The database is full, or the state is damaged. Neither protects the session.
        unfinished = session;
      });
    isBusy = true;
  };
  await lists.remove(memberOf(stores, key), { clear, longestPause: LONGEST_PAUSE });
  // The space of the session may be enough for the values.
  if (unfinished) await ifReadable(appender.finish(key, unfinished));
}

/**
 * Deletes all sessions of a user of an app, and the state of the user.
 *
 * @throws the error of the first session that cannot be deleted, after the others and the state are.
 */
export async function deleteUser(
  parts: WriteParts,
  { appName, userId }: Omit<SessionKey, "sessionId">,
): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  for (let pass = 0; pass < MAX_PASSES && !failure; pass++) {
    let met = 0;
    try {
      await parts.lists.removeAll(
        [indexes.user(appName, userId)],
        async (names) => {
          met += 1;
          await deleteSession(parts, sessionOfNames(appName, names));
        },
        undefined,
      );
    } catch (error) {
      if (concernsAll(error)) throw error;
      failure = { error };
    }
    // An event with an earlier time moves its session down, past a list that is read upwards in several pages.
    if (met <= PAGE) break;
  }
  await parts.stores.deleteThread(threads.user(appName, userId));
  if (failure) throw failure.error;
}
