import { type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { type Clock, retry } from "@scrollback/store-core/internal";
import type { Stamps } from "../clock.ts";
import {
  type ListedSession,
  listedSession,
  memberOf,
  type SessionLists,
  writeHead,
} from "../read/session-lists.ts";
import { explained, type Head, missing, readSession, updatedHead } from "../read/session-thread.ts";
import { CREATE_RETRIES, WRITE_RETRIES } from "../retries.ts";
import type { SessionKey } from "../session.ts";
import type { Scopes } from "../state/scopes.ts";
import type { SharedStates } from "../state/shared-state.ts";
import type { Appender } from "./appender.ts";

/** The dependencies of writes without an event. */
export interface WriteParts {
  readonly stores: StoreFactory;
  readonly shared: SharedStates;
  readonly lists: SessionLists;
  readonly clock: Clock;
  readonly stamps: Stamps;
  readonly appender: Appender;
}

/**
 * Writes the head of a new session. Afterwards its lists must be told.
 *
 * @throws StoreError `CONFLICT` if the session exists.
 */
export async function createThread(
  { stores, lists, clock }: WriteParts,
  key: SessionKey,
  createHead: () => Omit<Head, "listed">,
): Promise<ListedSession> {
  const member = memberOf(stores, key);
  const store = stores.open(member.threadId);
  const attempt = async (lost: number) => {
    let expectedRevision: Revision | null = null;
    if (lost > 0) {
      const view = await readSession(stores, store.threadId, 0);
      if (view.head !== undefined) {
        lists.seen(member, listedSession(view));
        return undefined;
      }
      // A session was deleted meanwhile, or the thread is empty.
      expectedRevision = view.revision;
    }
    const head = createHead();
    return await writeHead(lists, member, undefined, head, async (metadata) =>
      String(await store.commit({ metadata }, { expectedRevision })),
    ).catch((error) => {
      throw explained("createSession", error, head, stores);
    });
  };
  const created = await retry(attempt, { ...CREATE_RETRIES, clock });
  if (created) return created;
  throw new StoreError("CONFLICT", `createSession: sessionId "${key.sessionId}" already exists`);
}

/**
 * Sets the title and values of a session. Retries when another writer was first.
 *
 * @throws StoreError `NOT_FOUND` if the session does not exist, `TOO_LARGE`.
 */
export async function updateThread(
  { stores, shared, lists, appender, clock, stamps }: WriteParts,
  key: SessionKey,
  { title, delta }: { readonly title: string | null | undefined; readonly delta: Scopes },
): Promise<ListedSession> {
  const member = memberOf(stores, key);
  const store = stores.open(member.threadId);
  const attempt = async () => {
    const view = await readSession(stores, store.threadId, 0);
    if (view.head === undefined) throw missing("updateSession", key);
    await appender.finish(key, view);
    const base = await shared.basisOf("updateSession", key, delta);
    const known = Math.max(base.app?.content.clock ?? 0, base.user?.content.clock ?? 0);
    const head = updatedHead(view.head, title, delta, stamps.next(known));
    const { revision: expectedRevision } = view;
    const written = await writeHead(lists, member, view.head, head, async (metadata) =>
      String(await store.commit({ metadata }, { expectedRevision })),
    ).catch((error) => {
      throw explained("updateSession", error, head, stores);
    });
    return { written, base };
  };
  const { written, base } = await retry(attempt, { ...WRITE_RETRIES, clock });
  lists.tellSoon(member, written);
  await appender.written(key, written, base);
  return written;
}
