import { type BlobUse, concernsAll } from "@scrollback/collections/internal";
import { type Cursor, type Revision, StoreError } from "@scrollback/store-core";
import { retry } from "@scrollback/store-core/internal";
import type { Chat, ChatWrite, Identified } from "../chat.ts";
import type { FileChange } from "../files/chat-files.ts";
import { sweepFiles } from "../files/sweep-files.ts";
import { ChatView, OutdatedError } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { entryOf, isSameContent, lastMessageOf, messageOf, type StoredEntry } from "../read/entries.ts";
import {
  chatOf,
  type Head,
  isDone,
  type Operation,
  operationOf,
  withFields,
  withOperation,
} from "../read/head.ts";
import { draftOf, listedAs, memberOf } from "../read/listed-chat.ts";
import {
  afterChange,
  afterSwitch,
  type Continuations,
  firstIds,
  type Left,
  withinBounds,
  without,
} from "../siblings/continuations.ts";
import { type Leaving, leave } from "../siblings/leave.ts";
import { type ChatLocation, indexesOf } from "../threads.ts";

/** One write to one chat. */
export interface WriteRequest<M extends Identified> {
  readonly method: string;
  /** The number of newest entries that are read with the head; undefined: all. */
  readonly limit: number | undefined;
  readonly options: ChatWrite;
  /** The content of the request, to recognise a repeated write by its operation id. */
  readonly intent: unknown;
  /** Plans the changes of the chat; undefined: none. Each attempt calls it again. */
  plan(view: ChatView<M>, head: Head, now: number): Promise<Plan<M> | undefined> | Plan<M> | undefined;
  /** Creates the head of a missing chat. Default: `NOT_FOUND`. */
  create?(now: number): Head;
  /** Called if the write was made earlier with its operation id. */
  repeated?(head: Head): void;
}

/** Reads a chat, plans a change and commits it at the revision that was read. Retries if another writer was first. */
export async function writeChat<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  request: WriteRequest<M>,
): Promise<Written<M>> {
  const { method, options, intent } = request;
  const { operationId, signal } = options;
  // Only a write with an id is compared with others.
  const operation = operationId === undefined ? undefined : operationOf(operationId, method, intent);
  return await whileOutdated(method, () => writeOnce(context, location, request, operation), { signal });
}

async function writeOnce<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  request: WriteRequest<M>,
  operation: Operation | undefined,
): Promise<Written<M>> {
  const { method, limit, options } = request;
  const { expectedRevision, signal } = options;
  const view = await ChatView.read<M>(context.stores, location.threadId, { limit, signal });
  const now = context.now();
  const { head, revision } = view;
  if (head?.copying) throw request.create ? takenId(method) : missingChat(method);
  if (operation && head && revision !== null && isDone(head, operation, method)) {
    request.repeated?.(head);
    return unchanged(context, view, head, revision);
  }
  if (expectedRevision !== undefined && expectedRevision !== revision)
    throw new StoreError("CONFLICT", `${method}: the chat is not at expectedRevision; read it and try again`);
  const base = head ?? request.create?.(now);
  if (!base) throw missingChat(method);
  const plan = await request.plan(view, base, now);
  if (plan && head?.movesTo !== undefined && method !== "move")
    throw new StoreError(
      "CONFLICT",
      `${method}: the chat is being moved to another owner; repeat the call of move that began it`,
    );
  if (!plan && head && revision !== null) {
    if (!operation) return unchanged(context, view, head, revision);
    const noted = withFields(head, { operations: withOperation(head, operation), writes: head.writes + 1 });
    return await commit(context, location, { method, signal }, view, { head: noted, drop: 0, append: [] });
  }
  return await commitPlan(context, location, view, base, plan ?? {}, { method, now, operation, signal });
}

function unchanged<M extends Identified>(
  context: ChatContext<M>,
  { entries, older }: ChatView<M>,
  head: Head,
  revision: Revision,
): Written<M> {
  return { chat: chatOf(head, revision, context), head, revision, entries, older };
}

/** The message names neither the chat nor its owner, because they may be another user's. */
export function missingChat(method: string): StoreError {
  return new StoreError("NOT_FOUND", `${method}: the chat does not exist; create it first`);
}

/** @throws StoreError `CONFLICT` if the last message is not `after`. */
export function checkAfter(method: string, head: Head, after: string | null | undefined): void {
  if (after === undefined || after === (head.lastMessage?.id ?? null)) return;
  throw new StoreError(
    "CONFLICT",
    `${method}: the last message is not the one of "after"; read the chat and try again`,
  );
}

export function takenId(method: string): StoreError {
  return new StoreError("CONFLICT", `${method}: this chat id is taken; use another one`);
}

/** The changes of one write to a chat. */
export interface Plan<M> {
  /** The new entries of the view. Unchanged entries are the same objects. Default: unchanged. */
  readonly entries?: readonly StoredEntry<M>[];
  /** What the chat keeps of the entries that the change drops. Default: nothing. */
  readonly leaves?: Leaving<M>;
  /** The part whose messages are among the new entries. */
  readonly enters?: string;
  /** The part that the chat keeps no longer. */
  readonly forgets?: string;
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

/** Removes the title of a head. */
export const NO_TITLE = { title: undefined, titleBy: undefined, titleOf: undefined } as const;

/**
 * Commits a plan at the revision of a view. What no path has any more is erased when it returns.
 *
 * @throws OutdatedError if another writer was first.
 */
export async function commitPlan<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  view: ChatView<M>,
  base: Head,
  plan: Plan<M>,
  { method, now, operation, signal }: CommitOptions,
): Promise<Written<M>> {
  const { entries = view.entries, head: fields = {}, isActive = false, leaves, enters, forgets } = plan;
  const writes = base.writes + 1;
  const kept = commonLength(view.entries, entries);
  const drop = view.entries.length - kept;
  const append = entries.slice(kept).map((entry) => ({ ...entry, writes }));
  if (drop > 0) view.assertCountable(method);
  const isOther = drop > 0 || append.length > 0;
  const titled = view.entries.slice(kept).find(({ message }) => message.id === base.titleOf)?.message;
  const isTitleKept =
    !titled || append.some(({ message }) => message.id === base.titleOf && isSameContent(message, titled));
  const { parts = {} } = base;
  const change = (left?: Left) => {
    const all = forgets === undefined ? parts : without(parts, forgets);
    const changed = afterChange(all, view.entries, entries, view.isWhole, left);
    return enters === undefined ? changed : afterSwitch(changed, enters);
  };
  const unleft = change();
  assertDistinct(method, unleft, view.entries, entries);
  const taken = () =>
    new Set([...entries.map(({ message }) => message.id), fields.run?.messageId, ...firstIds(parts)]);
  const left = leaves && (await leave(context, view, leaves, taken(), now, signal));
  const changed = left ? change(left) : unleft;
  const continuations = left ? withinBounds(changed, context, left) : changed;
  const next = withFields(base, {
    parts: Object.keys(continuations).length > 0 ? continuations : undefined,
    ...(isOther && {
      messageCount: view.count - drop + append.length,
      lastMessage: await newLastMessage(context, view, drop, append),
    }),
    updatedAt: Math.max(now, base.updatedAt),
    activeAt: isActive ? Math.max(now, base.activeAt) : base.activeAt,
    ...(operation && { operations: withOperation(base, operation) }),
    ...(!isTitleKept && NO_TITLE),
    ...fields,
    writes,
  });
  const sweep = () => context.parts.sweep(location.threadId, { named: Object.keys(parts) });
  const state = { revision: view.revision, writes: base.writes };
  const gone = await entriesOfGone<M>(context, location.threadId, parts, continuations, enters, signal);
  const dropped = [...view.entries.slice(kept), ...gone];
  const stays = leaves?.entries ?? [];
  let files: FileChange<M> | undefined;
  const added = new Set<BlobUse>();
  const write = async () => {
    files = await context.files
      .prepare(location, state, { append, dropped, stays, added }, signal)
      .catch(asOutdated);
    const change = { head: next, drop, append: files.append };
    return await commit(context, location, { method, signal }, view, change);
  };
  const written = await write().catch((error) => {
    if (left) context.background(sweep());
    // The files of a repeated write are those of its last attempt.
    if (!(error instanceof OutdatedError) && hasFiles(append, dropped)) {
      const { incarnation } = base;
      const refused = files && concernsAll(error) ? [] : added;
      context.background(sweepFiles(context, location.threadId, { incarnation, refused }));
    }
    throw error;
  });
  if (files && added.size + files.dropped.length > 0)
    await afterFiles(context, location.threadId, written.head, added, files);
  const stored = new Set(append.map(({ message }) => message.id));
  const isErased = view.entries.slice(kept).some(({ message }) => !stored.has(message.id));
  const isGone = (from: Continuations) =>
    Object.keys(parts).some((part) => part !== enters && !Object.hasOwn(from, part));
  if (isGone(changed)) await sweep();
  // A process that died may have left a copy of what is erased.
  else if (enters !== undefined || isGone(continuations) || (isErased && !left)) context.background(sweep());
  return written;
}

/** Releases the files of dropped messages. Then, in the background, settles those that were added, and finds those of dead processes. */
async function afterFiles<M extends Identified>(
  context: ChatContext<M>,
  threadId: string,
  head: Head,
  added: Iterable<BlobUse>,
  { dropped }: FileChange<M>,
): Promise<void> {
  await context.files.release(threadId, dropped);
  const sweep = async () => {
    await context.files.settle(threadId, head, added);
    await sweepFiles(context, threadId, { incarnation: head.incarnation });
  };
  context.background(sweep());
}

/** The entries with files of the parts that a change erases. */
async function entriesOfGone<M>(
  { parts }: Pick<ChatContext<never>, "parts">,
  threadId: string,
  before: Continuations,
  after: Continuations,
  enters: string | undefined,
  signal: AbortSignal | undefined,
): Promise<StoredEntry<M>[]> {
  const gone = Object.entries(before).filter(
    ([part, { files }]) => files && part !== enters && !Object.hasOwn(after, part),
  );
  const pages = await Promise.all(gone.map(([part]) => parts.read(threadId, part, { signal })));
  return pages.flatMap((page) => (page?.entries ?? []).map((entry) => entryOf<M>(threadId, entry)));
}

/** @throws StoreError `CONFLICT` for a new message with the id of a sibling, by which one names it. */
function assertDistinct<M extends Identified>(
  method: string,
  all: Continuations,
  before: readonly StoredEntry<M>[],
  after: readonly StoredEntry<M>[],
): void {
  const firsts = firstIds(all);
  if (firsts.size === 0) return;
  const there = new Set(before.map(({ message }) => message.id));
  for (const { message } of after)
    if (firsts.has(message.id) && !there.has(message.id))
      throw new StoreError(
        "CONFLICT",
        `${method}: a sibling in the chat has the id of the message; use a new id, or switchTo`,
      );
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
const SHOWN_AT_ONCE: readonly string[] = [
  "create",
  "update",
  "fork",
  "import",
  "deleteMessage",
  "deleteSibling",
  "move",
];

/** Commits the new state of a chat, and tells its lists. @throws OutdatedError if another writer was first. */
async function commit<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  { method, signal }: Pick<CommitOptions, "method" | "signal">,
  view: ChatView<M>,
  { head, drop, append }: { head: Head; drop: number; append: readonly StoredEntry<M>[] },
): Promise<Written<M>> {
  const { lists, followers } = context;
  const { threadId } = location;
  const member = memberOf(context, location);
  const indexes = indexesOf(location.ownerName, head, context.indexedLabels);
  const { listed, revision, expiresAt } = await lists
    .write(member, view.head, indexes, draftOf(head), async (places) => {
      const change = { drop, append: append.map(messageOf), metadata: { ...head, listed: places } };
      const options = { expectedRevision: view.revision, ...(signal && { signal }) };
      return { revision: String(await view.store.commit(change, options)) };
    })
    .catch(asOutdated);
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

function asOutdated(error: unknown): never {
  throw StoreError.is(error, "CONFLICT")
    ? new OutdatedError("another writer was first", { cause: error })
    : error;
}

function hasFiles(...entries: readonly (readonly Pick<StoredEntry<unknown>, "uses">[])[]): boolean {
  return entries.flat().some(({ uses }) => uses);
}

function commonLength(one: readonly unknown[], other: readonly unknown[]): number {
  const index = one.findIndex((value, at) => value !== other[at]);
  return index < 0 ? one.length : index;
}

/** The retries of a write that loses to other writers: 21 attempts, with pauses that grow to 0.4 s. */
export const RETRIES = { attempts: 21, longestPause: 4 };

/** Repeats a write while other writers are first. `attempt` gets the number of lost attempts. @throws StoreError `CONFLICT`. */
export function whileOutdated<T>(
  method: string,
  attempt: (lost: number) => Promise<T>,
  options: Pick<NonNullable<Parameters<typeof retry>[1]>, "signal" | "isFirstCached" | "exhausted">,
): Promise<T> {
  return retry(attempt, {
    ...RETRIES,
    isRetryable: (error) => error instanceof OutdatedError,
    exhausted: (_, attempts) =>
      new StoreError("CONFLICT", `${method}: other writers committed first ${attempts} times; try again`),
    ...options,
  });
}

/** Repeats a write while the store is unreachable, for at most `ms`. `write` gets the number of failed attempts. Calls `onRetry` before the first repetition. */
export function untilReachable(
  write: (made: number) => Promise<void>,
  ms: number,
  onRetry: (error: unknown) => void,
): Promise<void> {
  const end = performance.now() + ms;
  const isRetryable = (error: unknown, made: number) => {
    if (!StoreError.is(error, "UNAVAILABLE") || performance.now() >= end) return false;
    if (made === 1) onRetry(error);
    return true;
  };
  return retry(write, { isRetryable, longestPause: RETRIES.longestPause });
}
