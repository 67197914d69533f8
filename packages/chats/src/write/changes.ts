import { StoreError } from "@scrollback/store-core";
import { checkMessages } from "@scrollback/store-core/internal";
import type { ChatPatch, Identified, MessageStatus, Placed } from "../chat.ts";
import { checkSizes } from "../checks.ts";
import type { ChatView } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { isSameContent, isSameMessage, newEntry, type StoredEntry, withMessage } from "../read/entries.ts";
import { type Head, isRunning } from "../read/head.ts";
import { leavingFrom } from "../siblings/leave.ts";
import { checkAfter, NO_TITLE, type Plan } from "./write-chat.ts";

/** The messages that {@link OwnedChats.truncate} drops. */
export type Cut = { readonly from: string } | { readonly behind: string | null };

/**
 * The head fields that a patch changes, in a chat with these entries.
 *
 * @throws StoreError `TOO_LARGE` if the labels or the metadata are too large, `NOT_FOUND` without the message of the title.
 */
export function patched<M extends Identified>(
  method: string,
  head: Head,
  patch: ChatPatch,
  entries: readonly StoredEntry<M>[],
): NonNullable<Plan<never>["head"]> {
  const { title, titleBy = "user", titleOf: made, pinned, archived } = patch;
  if (made && !entries.some(({ message }) => message.id === made.id && isSameContent(message, made)))
    throw new StoreError(
      "NOT_FOUND",
      `${method}: titleOf is not a message of the chat, or was changed since; make the title of the current message`,
    );
  const labels = merged(head.labels, patch.labels);
  const metadata = merged(head.metadata, patch.metadata);
  checkSizes(method, labels, metadata);
  return {
    ...(title === null && NO_TITLE),
    ...(typeof title === "string" && { title, titleBy, titleOf: made?.id }),
    ...(pinned !== undefined && { pinned }),
    ...(archived !== undefined && { archived }),
    ...(patch.labels && { labels: labels as Head["labels"] }),
    ...(patch.metadata && { metadata }),
  };
}

function merged(before: Readonly<Record<string, unknown>>, patch: Readonly<Record<string, unknown>> = {}) {
  const all = Object.entries({ ...before, ...patch });
  return Object.fromEntries(all.filter(([, value]) => value !== null && value !== undefined));
}

/**
 * The entries, followed by the messages that the chat does not have yet.
 *
 * @throws StoreError `CONFLICT` for the id of a different message.
 */
export function appended<M extends Identified>(
  { entries }: Pick<ChatView<M>, "entries">,
  messages: readonly M[],
  now: number,
): readonly StoredEntry<M>[] {
  const next = [...entries];
  for (const message of messages) {
    const found = next.findLast((entry) => entry.message.id === message.id);
    if (!found) next.push(newEntry(message, now));
    else if (!isSameMessage(found.message, message))
      throw new StoreError(
        "CONFLICT",
        "append: the chat has another message with this id; use a new id, or upsert",
      );
  }
  return next.length === entries.length ? entries : next;
}

export function planAppend<M extends Identified>(
  view: ChatView<M>,
  head: Head,
  messages: readonly M[],
  after: Placed["after"],
  now: number,
): Plan<M> | undefined {
  const entries = appended(view, messages, now);
  if (entries === view.entries) return undefined;
  if (head.run)
    for (const { message } of entries.slice(view.entries.length)) assertNotMade("append", head, message.id);
  checkAfter("append", head, after);
  return { entries, isActive: true };
}

/** @throws StoreError `CONFLICT` for the id of an answer that is being made. */
function assertNotMade(method: string, { run }: Head, id: string): void {
  if (run?.messageId === id)
    throw new StoreError("CONFLICT", `${method}: a run is making the message with this id; use a new id`);
}

export async function planUpsert<M extends Identified>(
  view: ChatView<M>,
  head: Head,
  message: M,
  status: MessageStatus | undefined,
  now: number,
): Promise<Plan<M>> {
  const index = await view.findIndex((entry) => entry.message.id === message.id);
  const before = view.entries[index];
  if (!before) {
    assertNotMade("upsert", head, message.id);
    const entry = newEntry(message, now, status && { status });
    return { entries: [...view.entries, entry], isActive: true };
  }
  // An error belongs to its status.
  const isKept = status === undefined || status === before.status;
  const kept = isKept ? before : newEntry(message, now, { status, createdAt: before.createdAt });
  return { entries: view.entries.with(index, withMessage({ ...kept, updatedAt: now }, message)) };
}

export async function planEdit<M extends Identified>(
  context: ChatContext<M>,
  view: ChatView<M>,
  head: Head,
  messageId: string,
  message: M,
  keepSibling: boolean,
  now: number,
): Promise<Plan<M>> {
  await indexOf("edit", view, messageId);
  if (message.id !== messageId) {
    assertNotMade("edit", head, message.id);
    // Earlier messages may not be loaded yet.
    const taken = await view.findIndex((entry) => entry.message.id === message.id);
    if (taken >= 0 && taken < (await indexOf("edit", view, messageId)))
      throw new StoreError("CONFLICT", "edit: an earlier message has the id of the new one; use a new id");
  }
  const index = await indexOf("edit", view, messageId, keepSibling);
  const kept = view.entries.slice(0, index);
  const createdAt = message.id === messageId && !keepSibling ? view.entries[index]?.createdAt : undefined;
  const leaves = keepSibling ? leavingFrom(context, view.entries, index, head.run, now) : undefined;
  return {
    entries: [...kept, newEntry(message, now, createdAt === undefined ? {} : { createdAt })],
    ...(leaves && { leaves }),
    isActive: true,
  };
}

export async function planTruncate<M extends Identified>(
  view: ChatView<M>,
  cut: Cut,
): Promise<Plan<M> | undefined> {
  if ("behind" in cut && cut.behind === null) {
    while (!view.isWhole) await view.loadOlder();
    return keepTo(view, 0);
  }
  if ("from" in cut) return keepTo(view, await indexOf("truncate", view, cut.from));
  return keepTo(view, (await indexOf("truncate", view, String(cut.behind))) + 1);
}

/** Drops an answer: from an assistant message on, or after a user message. */
export async function planDropAnswer<M extends Identified>(
  context: ChatContext<M>,
  view: ChatView<M>,
  head: Head,
  messageId: string | undefined,
  keepSibling: boolean,
  now: number,
): Promise<Plan<M> | undefined> {
  const index =
    messageId === undefined
      ? await view.findIndex(({ message }) => message.role === "user")
      : await indexOf("dropAnswer", view, messageId, keepSibling);
  const role = view.entries[index]?.message.role;
  if (role === undefined) throw new StoreError("NOT_FOUND", "dropAnswer: the chat has no user message");
  const end = role === "user" || role === "system" ? index + 1 : index;
  const leaves = keepSibling ? leavingFrom(context, view.entries, end, head.run, now) : undefined;
  const kept = keepTo(view, end);
  return kept && { ...kept, ...(leaves && { leaves }) };
}

/** Drops one message with its tool exchange, or with its answer, and keeps all others. */
export async function planDelete<M extends Identified>(
  view: ChatView<M>,
  head: Head,
  messageId: string,
  isWithAnswer: boolean,
  now: number,
): Promise<Plan<M>> {
  const { run } = head;
  if (run) await view.findIndex(({ message }) => message.id === run.messageId);
  let index = await indexOf("deleteMessage", view, messageId);
  // An answer may begin before what is loaded.
  while (!view.isWhole && view.entries.slice(0, index + 1).every(isOfAnswer)) {
    await view.loadOlder();
    index = await indexOf("deleteMessage", view, messageId);
  }
  const { entries } = view;
  const isPart = (at: number) =>
    entries[at]?.message.role === "tool" || (isWithAnswer && isOfAnswer(entries[at]));
  let start = index;
  while (isPart(start) && isOfAnswer(entries[start - 1])) start--;
  let end = index + 1;
  while (isPart(end) && (isWithAnswer || isOfAnswer(entries[end - 1]))) end++;
  const kept = [...entries.slice(0, start), ...entries.slice(end)];
  if (!run) return { entries: kept };
  const made = entries.findLastIndex(({ message }) => message.id === run.messageId);
  const asked = entries.findLastIndex((entry, at) => (made < 0 || at < made) && !isOfAnswer(entry));
  const isOfRun = end > asked && (made < 0 || start <= made);
  if (isOfRun && isRunning(run, now))
    throw new StoreError(
      "CONFLICT",
      "deleteMessage: a run is making this message, or answers it; wait for it, or stop it",
    );
  // The next run would look for the lost answer.
  const isRunGone = isOfRun && !kept.some(({ message }) => message.id === run.messageId);
  return { entries: kept, ...(isRunGone && { head: { run: undefined } }) };
}

function isOfAnswer(entry: { readonly message: Identified } | undefined): boolean {
  return entry?.message.role === "assistant" || entry?.message.role === "tool";
}

/** Gives a message other metadata, or none. */
export async function planMetadata<M extends Identified>(
  view: ChatView<M>,
  head: Head,
  messageId: string,
  metadata: unknown,
  check: (message: unknown) => string | undefined,
  now: number,
): Promise<Plan<M>> {
  if (head.run && isRunning(head.run, now))
    throw new StoreError(
      "CONFLICT",
      "updateMessage: a run of the chat is under way; wait for it, or stop it",
    );
  const index = await indexOf("updateMessage", view, messageId);
  const before = view.entries[index] as StoredEntry<M>;
  const { metadata: _, ...rest } = before.message as M & { metadata?: unknown };
  const message = (metadata === null ? rest : { ...rest, metadata }) as M;
  checkMessages("updateMessage", [message], check);
  return { entries: view.entries.with(index, { ...before, message, updatedAt: now }) };
}

/** Keeps the entries before `end`; undefined if these are all entries. */
function keepTo<M>({ entries }: ChatView<M>, end: number): Plan<M> | undefined {
  return end >= entries.length ? undefined : { entries: entries.slice(0, end) };
}

/** The index of a message, whose predecessor is read too if asked. @throws StoreError `NOT_FOUND`. */
async function indexOf<M extends Identified>(
  method: string,
  view: ChatView<M>,
  id: string,
  isBehindNeeded = false,
): Promise<number> {
  const isMeant = (entry: StoredEntry<M>) => entry.message.id === id;
  const index = await view.findIndex(isMeant);
  if (index < 0) throw new StoreError("NOT_FOUND", `${method}: the chat has no message with this id`);
  if (index > 0 || !isBehindNeeded || view.isWhole) return index;
  await view.loadOlder();
  return await view.findIndex(isMeant);
}
