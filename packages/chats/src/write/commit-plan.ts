import { type Cursor, type Revision, StoreError } from "@scrollback/store-core";
import type { Chat, Identified } from "../chat.ts";
import { type ChatView, OutdatedError } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { lastMessageOf, messageOf, type StoredEntry } from "../read/entries.ts";
import { chatOf, type Head, type Operation, withFields, withOperation } from "../read/head.ts";
import { draftOf, listedAs, memberOf } from "../read/listed-chat.ts";
import { type ChatLocation, indexesOf } from "../threads.ts";

/** The changes of one write to a chat. */
export interface Plan<M> {
  /** The new entries of the view. Unchanged entries are the same objects. Default: unchanged. */
  readonly entries?: readonly StoredEntry<M>[];
  /** The changed fields of the head. */
  readonly head?: { readonly [K in keyof Head]?: Head[K] | undefined };
  /** Whether the write moves the chat to the front of lists. */
  readonly isActive?: boolean;
}

/** A chat after a write. */
export interface Written<M> {
  readonly chat: Chat;
  readonly head: Head;
  readonly revision: Revision;
  readonly older: Cursor | undefined;
  /** The newest entries, as far as the write has read them. */
  readonly entries: readonly StoredEntry<M>[];
}

/** Options of a commit. */
export interface CommitOptions {
  readonly method: string;
  readonly now: number;
  readonly operation: Operation | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Commits a plan at the revision of a view. @throws OutdatedError if another writer was first. */
export async function commitPlan<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  view: ChatView<M>,
  base: Head,
  plan: Plan<M>,
  { method, now, operation, signal }: CommitOptions,
): Promise<Written<M>> {
  const { entries = view.entries, head: fields = {}, isActive = false } = plan;
  const writes = base.writes + 1;
  const kept = commonLength(view.entries, entries);
  const drop = view.entries.length - kept;
  const append = entries.slice(kept).map((entry) => ({ ...entry, writes }));
  if (drop > 0) view.assertCountable(method);
  const isOther = drop > 0 || append.length > 0;
  const next = withFields(base, {
    ...(isOther && {
      messageCount: view.count - drop + append.length,
      lastMessage: await newLastMessage(context, view, drop, append),
    }),
    updatedAt: Math.max(now, base.updatedAt),
    activeAt: isActive ? Math.max(now, base.activeAt) : base.activeAt,
    ...(operation && { operations: withOperation(base, operation) }),
    ...fields,
    writes,
  });
  return await commit(context, location, { method, signal }, view, { head: next, drop, append });
}

/** The newest message after a change. Reads it if the change dropped all entries that were read. */
async function newLastMessage<M extends Identified>(
  { preview }: ChatContext<M>,
  view: ChatView<M>,
  drop: number,
  append: readonly StoredEntry<M>[],
): Promise<Head["lastMessage"]> {
  if (append.length === 0 && drop >= view.entries.length) await view.loadOlder();
  const last = append.at(-1) ?? view.entries.at(-1 - drop);
  return last && lastMessageOf(last, preview);
}

/** The writes whose caller waits until lists show them. */
const SHOWN_AT_ONCE: readonly string[] = ["create", "update", "fork", "import"];

/** Commits the new state of a chat, and tells its lists. @throws OutdatedError if another writer was first. */
export async function commit<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  { method, signal }: Pick<CommitOptions, "method" | "signal">,
  view: ChatView<M>,
  { head, drop, append }: { head: Head; drop: number; append: readonly StoredEntry<M>[] },
): Promise<Written<M>> {
  const { stores, lists, followers } = context;
  const { threadId } = location;
  const member = memberOf<M>(stores, location);
  const indexes = indexesOf(location.ownerName, head, context.indexedLabels);
  const { listed, revision, expiresAt } = await lists
    .write(member, view.head, indexes, draftOf(head), async (places) => {
      const change = { drop, append: append.map(messageOf), metadata: { ...head, listed: places } };
      const options = { expectedRevision: view.revision, ...(signal && { signal }) };
      return { revision: String(await view.store.commit(change, options)) };
    })
    .catch((error) => {
      throw StoreError.is(error, "CONFLICT")
        ? new OutdatedError("another writer was first", { cause: error })
        : error;
    });
  followers.notify(threadId);
  const next = { ...head, listed };
  const snapshot = listedAs(next, revision, expiresAt);
  if (!view.head || (SHOWN_AT_ONCE.includes(method) && !head.copying)) await lists.tell(member, snapshot);
  else if (view.head.run?.id !== head.run?.id) context.background(lists.tell(member, snapshot));
  // A list reads the head of a chat with a run.
  else if (!head.run) lists.tellSoon(member, snapshot);
  const entries = [...view.entries.slice(0, view.entries.length - drop), ...append];
  return { chat: chatOf(next, revision, context), head: next, revision, entries, older: view.older };
}

function commonLength(one: readonly unknown[], other: readonly unknown[]): number {
  const index = one.findIndex((value, at) => value !== other[at]);
  return index < 0 ? one.length : index;
}
