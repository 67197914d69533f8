import { StoreError } from "@scrollback/store-core";
import { uuidV7 } from "@scrollback/store-core/internal";
import type { Chat, ChatEntry, ChatSummary, Identified } from "../chat.ts";
import { ChatView } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { isSameMessage, newEntry, type StoredEntry } from "../read/entries.ts";
import { chatOf, type Head, isDone, newHead, type Operation } from "../read/head.ts";
import { type StoredContinuation, writeContinuations } from "../siblings/copied-continuations.ts";
import type { ChatLocation } from "../threads.ts";
import { commitPlan, takenId, type Written, whileOutdated } from "../write/write-chat.ts";

/** A chat to create from existing entries. */
export interface ChatCopy<M extends Identified> {
  readonly method: string;
  readonly entries: readonly StoredEntry<M>[];
  /** What the chat keeps beside its path. Default: nothing. */
  readonly continuations?: readonly StoredContinuation<M>[];
  /** The fields of the chat besides its messages. */
  readonly fields: { readonly [K in keyof Head]?: Head[K] | undefined };
  readonly operation: Operation | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A running copy. `marker` distinguishes its commits from those of other copies. */
interface MarkedCopy<M extends Identified> extends ChatCopy<M> {
  readonly marker: Operation;
}

/**
 * Creates a chat in one commit if its messages fit in one and it has no siblings, otherwise in several. The chat exists only after the
 * last commit. A
 * repeated call with the same operation continues a failed copy, and starts over if the entries have changed since.
 *
 * @throws StoreError `CONFLICT` if the id is taken.
 */
export async function copyChat<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  copy: ChatCopy<M>,
): Promise<Chat> {
  const { stores } = context;
  const { method, entries, operation, signal } = copy;
  const marked = { ...copy, marker: operation ?? { id: uuidV7(), digest: "" } };
  const { threadId } = location;
  let view = ChatView.known<M>(stores, threadId, { revision: null, entries: [] });
  let atOnce = Math.max(1, entries.length);
  /** The chat, or the state after the next commit. */
  const step = async (lost: number): Promise<Chat | Written<M>> => {
    if (lost > 0) view = await ChatView.read<M>(stores, threadId, { signal });
    const { head, revision } = view;
    if (head && revision !== null && !head.copying) {
      if (operation && isDone(head, operation, method)) return chatOf(head, revision, context);
      throw takenId(method);
    }
    if (head?.copying && !isCopyOf(head.copying, marked.marker)) throw takenId(method);
    return await copyNext(context, location, marked, view, atOnce);
  };
  for (;;) {
    try {
      const made = await whileOutdated(method, step, { signal, isFirstCached: true });
      if (!("head" in made)) return made;
      if (!made.head.copying) return made.chat;
      view = ChatView.known<M>(stores, threadId, made);
    } catch (error) {
      if (!StoreError.is(error, "TOO_LARGE") || atOnce === 1) throw error;
      atOnce = Math.ceil(atOnce / 2);
    }
  }
}

/** Commits the next entries after the stored ones. Starts with the first entry if the stored entries differ. */
async function copyNext<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  { method, entries, continuations = [], fields, operation, marker, signal }: MarkedCopy<M>,
  view: ChatView<M>,
  atOnce: number,
) {
  const now = context.now();
  const { head, revision } = view;
  // Parts are announced for a commit at a revision: the first commit makes one.
  const isFirst = continuations.length > 0 && revision === null;
  const parts =
    revision === null || continuations.length === 0
      ? undefined
      : (head?.parts ??
        (await writeContinuations(
          context,
          location,
          { revision, writes: head?.writes ?? 0 },
          entries,
          continuations,
          signal,
        )));
  const isBegun =
    view.entries.length <= entries.length &&
    view.entries.every((entry, index) => isSameEntry(entry, entries[index]));
  const there = isBegun ? view.entries : [];
  const next = [...there, ...entries.slice(there.length, there.length + (isFirst ? 0 : atOnce))];
  const isLast = next.length === entries.length && !isFirst;
  const copying = { since: now, operationId: marker.id, digest: marker.digest };
  const plan = { entries: next, head: { ...fields, parts, copying: isLast ? undefined : copying } };
  const base = head ?? newHead(location.chatId, now);
  const done = isLast ? operation : undefined;
  return await commitPlan(context, location, view, base, plan, { method, now, operation: done, signal });
}

function isCopyOf({ operationId, digest }: NonNullable<Head["copying"]>, marker: Operation): boolean {
  return operationId === marker.id && digest === marker.digest;
}

function isSameEntry<M>(one: StoredEntry<M>, other: StoredEntry<M> | undefined): boolean {
  if (!other) return false;
  const [text, otherText] = [one, other].map(({ writes, uses, ...entry }) => entry);
  return isSameMessage(text, otherText);
}

/** The title for a copy with these entries: without the message that it was made of, a chat has no title. */
export function copiedTitle<M extends Identified>(
  { title, titleBy, titleOf }: Pick<ChatSummary, "title" | "titleBy" | "titleOf">,
  entries: readonly ChatEntry<M>[],
) {
  const isKept = titleOf === undefined || entries.some(({ message }) => message.id === titleOf);
  return isKept ? { title, titleBy, titleOf } : {};
}

/** Copies an entry. A partial answer is completed by `closeAnswer` and stored as `"stopped"`. */
export function copied<M>(entry: StoredEntry<M>, closeAnswer: (message: M) => M): StoredEntry<M> {
  const { message, createdAt, updatedAt, status, error, uses } = entry;
  const isPartial = status === "partial";
  return newEntry(isPartial ? closeAnswer(message) : message, createdAt, {
    updatedAt,
    status: isPartial ? "stopped" : status,
    ...(error !== undefined && { error }),
    ...(uses && { uses }),
  });
}
