import { type Listed, type Lists, type Member, nameOf, type Snapshot } from "@scrollback/collections";
import type { Revision, StoreFactory } from "@scrollback/store-core";
import { byteLength, sha256 } from "@scrollback/store-core/internal";
import type { SessionKey } from "../session.ts";
import { indexes, threads } from "../threads.ts";
import { type Head, readSession, type SessionView } from "./session-thread.ts";

const MAX_KEY_BYTES = 1_024;

/** A session at one revision. Its entries have no text, because lists read each session. */
export interface ListedSession extends Snapshot<never> {
  readonly head: Head;
}
export type SessionMember = Member<never, ListedSession>;
export type SessionLists = Lists<never, ListedSession>;

/** Returns a session as its lists have it, whether or not it exists. */
export function memberOf(stores: StoreFactory, key: SessionKey): SessionMember {
  const { appName, userId, sessionId } = key;
  const threadId = threads.session(appName, userId, sessionId);
  return {
    threadId,
    ...namesOf(key),
    bases: [indexes.app(appName), indexes.user(appName, userId)],
    async read(signal) {
      const view = await readSession(stores, threadId, 0, signal);
      return view.head === undefined ? { revision: view.revision } : listedSession(view);
    },
    async place({ head: before, revision: expectedRevision, expiresAt }, listed) {
      const head: Head = { ...before, commits: before.commits + 1, listed };
      const revision = await stores.open(threadId).commit({ metadata: head }, { expectedRevision });
      return listedSession({ head, revision: String(revision), expiresAt });
    },
  };
}

/** Returns a session that was read or written, for {@link Lists}. */
export function listedSession({
  head,
  revision,
  expiresAt,
}: Pick<SessionView, "head" | "revision" | "expiresAt">): ListedSession {
  const { incarnation, listed } = head;
  return {
    head,
    revision,
    incarnation,
    listed,
    ...draftOf(head),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/**
 * Commits the head of a session. Afterwards its lists must be told.
 *
 * @param before the head at the revision at which `commit` writes; undefined for a new session.
 */
export async function writeHead(
  lists: SessionLists,
  member: SessionMember,
  before: Head | undefined,
  head: Omit<Head, "listed">,
  commit: (head: Head) => Promise<Revision>,
): Promise<ListedSession> {
  const written = await lists.write(member, before, member.bases, draftOf(head), async (listed: Listed) => {
    const whole: Head = { ...head, listed };
    return { head: whole, revision: await commit(whole) };
  });
  return listedSession(written);
}

/**
 * Returns the key of a session in both indexes. Sorted by it, the sessions of a user are sorted by their ids. Long names are hashed;
 * the entry then has them beside the key.
 */
function namesOf({ userId, sessionId }: Pick<SessionKey, "userId" | "sessionId">) {
  const names = [userId, sessionId];
  const user = nameOf(userId);
  const key = `${user}:${sessionId}`;
  // A hash alone has no colon, so it differs from every other key.
  if (byteLength(key) > MAX_KEY_BYTES) return { key: `#${sha256(JSON.stringify(names))}`, names };
  return user.startsWith("#") ? { key, names } : { key };
}

/** Returns the session of an entry. */
export function sessionOfNames(
  appName: string,
  { key, names }: Pick<Member<never>, "key" | "names">,
): SessionKey {
  const colon = key.indexOf(":");
  const [userId = decodeURIComponent(key.slice(0, colon)), sessionId = key.slice(colon + 1)] = names ?? [];
  return { appName, userId, sessionId };
}

function draftOf({ commits: version, lastUpdateTime: order }: Omit<Head, "listed">) {
  return { version, order };
}
