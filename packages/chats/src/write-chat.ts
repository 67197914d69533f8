import { setTimeout as sleep } from "node:timers/promises";
import { type Revision, StoreError } from "@scrollback/store-core";
import type { Chat, ChatWrite, Identified } from "./chat.ts";
import { ChatView, OutdatedError } from "./chat-view.ts";
import type { ChatContext } from "./context.ts";
import { lastMessageOf, messageOf, type StoredEntry } from "./entries.ts";
import {
  chatOf,
  type Head,
  isDone,
  type Operation,
  operationOf,
  summaryOf,
  withFields,
  withOperation,
} from "./head.ts";
import type { ChatLocation } from "./threads.ts";

const MAX_ATTEMPTS = 20;
/** What the directory takes of a chat. */
const MAX_SUMMARY_BYTES = 8_192;

/** What a write makes of a chat. */
export interface Plan<M> {
  /** What the view's entries become. Entries that stay are the same objects. Default: as they are. */
  readonly entries?: readonly StoredEntry<M>[];
  /** Fields of the head that change. */
  readonly head?: { readonly [K in keyof Head]?: Head[K] | undefined };
  /** Whether it moves the chat to the front of lists. */
  readonly isActive?: boolean;
}

/** One write to one chat. */
export interface WriteRequest<M extends Identified> {
  readonly method: string;
  /** How many of the newest entries are read with the head; undefined: all. */
  readonly limit: number | undefined;
  readonly options: ChatWrite;
  /** What was asked for, to know the same write again under its operation id. */
  readonly intent: unknown;
  /** What becomes of the chat; undefined: nothing. Is asked again when another writer came between. */
  plan(view: ChatView<M>, head: Head, now: number): Promise<Plan<M> | undefined> | Plan<M> | undefined;
  /** The head that a missing chat begins with. Default: `NOT_FOUND`. */
  create?(now: number): Head;
  /** Is called where the write was made earlier under its operation id. */
  repeated?(head: Head): void;
}

/** A chat after a write. */
export interface Written<M> {
  readonly chat: Chat;
  readonly head: Head;
  readonly revision: Revision;
  /** The newest entries, as far as the write has read them. */
  readonly entries: readonly StoredEntry<M>[];
}

/** Reads a chat, makes a change and commits it at the revision that was read; again where another writer was first. */
export async function writeChat<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  request: WriteRequest<M>,
): Promise<Written<M>> {
  const { method, options, limit, intent } = request;
  const { operationId, signal } = options;
  const operation = operationOf(operationId, method, intent);
  for (let attempt = 0; ; attempt++) {
    try {
      const view = await ChatView.read<M>(context.stores, location.threadId, { limit, signal });
      return await writeOnce(context, location, request, operation, view);
    } catch (error) {
      if (!(error instanceof OutdatedError)) throw error;
      if (attempt >= MAX_ATTEMPTS)
        throw new StoreError("CONFLICT", `${method}: other writers were first ${attempt} times; try again`);
    }
    await sleep(Math.random() * 20 * 2 ** Math.min(attempt, 4));
  }
}

async function writeOnce<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  request: WriteRequest<M>,
  operation: Operation | undefined,
  view: ChatView<M>,
): Promise<Written<M>> {
  const { method, options } = request;
  const { expectedRevision } = options;
  const now = context.now();
  const { head, revision } = view;
  if (head && revision !== null && isDone(head, operation, method)) {
    request.repeated?.(head);
    return unchanged(view, head, revision);
  }
  if (expectedRevision !== undefined && expectedRevision !== revision)
    throw new StoreError("CONFLICT", `${method}: the chat is not at expectedRevision; read it and try again`);
  const base = head ?? request.create?.(now);
  if (!base) throw missingChat(method);
  const plan = await request.plan(view, base, now);
  if (!plan && head && revision !== null) {
    if (!operation) return unchanged(view, head, revision);
    const noted = withFields(head, { operations: withOperation(head, operation), writes: head.writes + 1 });
    return await commit(context, location, options.signal, view, { head: noted, drop: 0, append: [] });
  }
  const { entries = view.entries, head: fields = {}, isActive = false } = plan ?? {};
  const writes = base.writes + 1;
  const kept = commonLength(view.entries, entries);
  const drop = view.entries.length - kept;
  const append = entries.slice(kept).map((entry) => ({ ...entry, writes }));
  if (drop > 0) view.assertCountable(method);
  const isOther = drop > 0 || append.length > 0;
  const next = withFields(base, {
    ...fields,
    ...(isOther && {
      messageCount: view.count - drop + append.length,
      lastMessage: await newLastMessage(context, view, drop, append),
    }),
    updatedAt: Math.max(now, base.updatedAt),
    activeAt: isActive ? Math.max(now, base.activeAt) : base.activeAt,
    operations: withOperation(base, operation),
    writes,
  });
  return await commit(context, location, options.signal, view, { head: next, drop, append });
}

/** The newest message after a change; reads it where the change dropped all that were read. */
async function newLastMessage<M extends Identified>(
  { preview }: ChatContext<M>,
  view: ChatView<M>,
  drop: number,
  append: readonly StoredEntry<M>[],
): Promise<Head["lastMessage"]> {
  if (append.length === 0 && drop >= view.entries.length) await view.deepen();
  const last = append.at(-1) ?? view.entries.at(-1 - drop);
  return last && lastMessageOf(last, preview);
}

async function commit<M extends Identified>(
  { stores, directories, now }: ChatContext<M>,
  { threadId, directory, chatId }: ChatLocation,
  signal: AbortSignal | undefined,
  view: ChatView<M>,
  { head, drop, append }: { head: Head; drop: number; append: readonly StoredEntry<M>[] },
): Promise<Written<M>> {
  const value = summaryOf(head);
  if (stores.metadataSize(value) > MAX_SUMMARY_BYTES)
    throw new StoreError(
      "TOO_LARGE",
      `the title, the labels and the ids of the chat: at most 8 KiB encoded fit`,
    );
  const { ttlMs } = stores.settings;
  const { incarnation, activeAt: order, writes: version } = head;
  let revision: Revision | null = null;
  try {
    await directories.write(directory, { key: [chatId], incarnation }, async () => {
      const change = { drop, append: append.map(messageOf), metadata: head };
      const options = { expectedRevision: view.revision, ...(signal && { signal }) };
      revision = await stores.open(threadId).commit(change, options);
      const expiry = ttlMs !== undefined && { expiresAt: now() + ttlMs };
      return { order, version, value, was: view.head?.activeAt, ...expiry };
    });
  } catch (error) {
    if (StoreError.is(error, "CONFLICT"))
      throw new OutdatedError("another writer was first", { cause: error });
    throw error;
  }
  const entries = [...view.entries.slice(0, view.entries.length - drop), ...append];
  const written = String(revision);
  return { chat: chatOf(head, written), head, revision: written, entries };
}

function unchanged<M>({ entries }: ChatView<M>, head: Head, revision: Revision): Written<M> {
  return { chat: chatOf(head, revision), head, revision, entries };
}

function commonLength(one: readonly unknown[], other: readonly unknown[]): number {
  const index = one.findIndex((value, at) => value !== other[at]);
  return index < 0 ? one.length : index;
}

/** Names neither the chat nor its owner: they may be another's. */
export function missingChat(method: string): StoreError {
  return new StoreError("NOT_FOUND", `${method}: there is no such chat; create it first`);
}

/** @throws StoreError `CONFLICT` where the last message is not `after`. */
export function checkAfter(method: string, head: Head, after: string | null | undefined): void {
  if (after === undefined || after === (head.lastMessage?.id ?? null)) return;
  throw new StoreError(
    "CONFLICT",
    `${method}: the last message is not the one of "after"; read the chat and try again`,
  );
}
