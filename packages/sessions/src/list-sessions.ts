import type { Member } from "@scrollback/collections";
import { StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import { sessionOf } from "./read/live-session.ts";
import { type ListedSession, memberOf, sessionOfNames } from "./read/session-lists.ts";
import type { ListSessionsRequest, ListSessionsResponse, Session, SessionKey } from "./session.ts";
import type { Shared } from "./state/shared-state.ts";
import { indexes, threads } from "./threads.ts";
import type { WriteParts } from "./write/session-writes.ts";

/** Returns a page of the sessions of an app or of a user. */
export async function listSessions(
  { stores, lists, shared, appender }: WriteParts,
  { appName, userId: ofUser, limit = 20, order = "desc", pageToken }: ListSessionsRequest,
): Promise<ListSessionsResponse> {
  const states = new Map<string, Promise<Shared>>();
  const stateOf = (threadId: string) => {
    const state = states.get(threadId) ?? shared.load(threadId);
    states.set(threadId, state);
    return state;
  };
  const stateOfApp = () => stateOf(threads.app(appName));
  const stateOfUser = (userId: string) => stateOf(threads.user(appName, userId));
  const keys = new Map<string, SessionKey>();
  const request = {
    index: ofUser === undefined ? indexes.app(appName) : indexes.user(appName, ofUser),
    direction: order === "desc" ? "down" : "up",
    ...{ limit, cursor: pageToken, readsAll: true },
    memberOf(names: Pick<Member<never>, "key" | "names">) {
      const key = sessionOfNames(appName, names);
      const member = memberOf(stores, key);
      keys.set(member.threadId, key);
      const read = async (signal?: AbortSignal) => {
        // All at once. A session cannot be shown without the state of its user; that of the app concerns the whole page.
        const all = [
          member.read(signal),
          stateOfUser(key.userId),
          stateOfApp().catch(() => undefined),
        ] as const;
        return (await Promise.all(all))[0];
      };
      return { ...member, read };
    },
  } as const;
  const { items, cursor } = await lists.page(request).catch((error) => throwOfToken(error, order, pageToken));
  if (items.length > 0) await Promise.all([stateOfApp(), ofUser !== undefined && stateOfUser(ofUser)]);
  const unreadable: SessionKey[] = [];
  const shown: Promise<Session>[] = [];
  const show = async (key: SessionKey, snapshot: ListedSession) => {
    const [app, user] = await Promise.all([stateOfApp(), stateOfUser(key.userId)]);
    return sessionOf(key, snapshot, [], { app, user, ...(await appender.finish(key, snapshot)) });
  };
  for (const { member, snapshot } of items) {
    const key = keys.get(member.threadId);
    if (!key || !snapshot) continue;
    if (snapshot === "unreadable") unreadable.push(key);
    else shown.push(show(key, snapshot));
  }
  return {
    sessions: await Promise.all(shown),
    ...(cursor !== undefined && { nextPageToken: cursor }),
    ...(unreadable.length > 0 && { unreadable }),
  };
}

function throwOfToken(error: unknown, order: "desc" | "asc", pageToken: string | undefined): never {
  if (pageToken === undefined || !StoreError.is(error, "INVALID_ARGUMENT")) throw error;
  return invalid(`listSessions: pageToken must be the nextPageToken of a page in the order "${order}"`);
}
