import { jsonCodec, type Revision, StoreError } from "@scrollback/store-core";
import { byteLength, uuidV7 } from "@scrollback/store-core/internal";
import type { Identified } from "../chat.ts";
import type { ChatView } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { LOST, messageOf, type StoredEntry } from "../read/entries.ts";
import { isRunning, type StoredRun } from "../read/head.ts";
import type { Continuation, Left } from "./continuations.ts";

/** Messages that a change drops from the path, and the chat keeps. */
export interface Leaving<M> {
  /** The last message that stays; `null`: none does. */
  readonly behind: string | null;
  /** At least one. */
  readonly entries: readonly StoredEntry<M>[];
}

/** The messages from an index on, as the chat keeps them: nothing adds to an unfinished answer any more. Undefined if there are none. */
export function leavingFrom<M extends Identified>(
  { closeAnswer }: Pick<ChatContext<M>, "closeAnswer">,
  entries: readonly StoredEntry<M>[],
  from: number,
  run: StoredRun | undefined,
  now: number,
): Leaving<M> | undefined {
  if (from >= entries.length) return undefined;
  const ending = run && !isRunning(run, now) ? LOST : ({ status: "stopped" } as const);
  const closed = entries
    .slice(from)
    .map((entry) =>
      entry.status === "partial" ? { ...entry, message: closeAnswer(entry.message), ...ending } : entry,
    );
  return { behind: entries[from - 1]?.message.id ?? null, entries: closed };
}

/**
 * Stores what a change leaves as a part of the chat, for the commit that names it.
 *
 * @param taken the ids of the new path. A message with one of them gets another id: of siblings an id names one.
 * @throws StoreError `TOO_LARGE` if it does not fit in one commit.
 */
export async function leave<M extends Identified>(
  context: ChatContext<M>,
  view: ChatView<M>,
  { behind, entries }: Leaving<M>,
  taken: ReadonlySet<string | undefined>,
  leftAt: number,
  signal: AbortSignal | undefined,
): Promise<Left> {
  const kept = entries.map((entry) =>
    taken.has(entry.message.id) ? { ...entry, message: { ...entry.message, id: uuidV7() } } : entry,
  );
  const { threadId } = view.store;
  const stored = { behind, leftAt, entries: kept };
  const [part, continuation] = await storePart(
    context,
    threadId,
    view.revision as Revision,
    stored,
    signal,
  ).catch((error) => {
    throw StoreError.is(error, "TOO_LARGE") ? tooLarge(error) : error;
  });
  const ids = new Map(
    entries.map(({ message }, index) => [message.id, kept[index]?.message.id ?? message.id]),
  );
  return { part, continuation, ids };
}

/** Stores messages as a part of a chat's thread, for the commit at `base` that names it. @returns what the head says of it. */
export async function storePart<M extends Identified>(
  { parts, stores, now }: ChatContext<M>,
  threadId: string,
  base: Revision,
  { behind, leftAt, entries }: Pick<Continuation, "behind" | "leftAt"> & Pick<Leaving<M>, "entries">,
  signal: AbortSignal | undefined,
): Promise<readonly [part: string, Continuation]> {
  const { ttlMs } = stores.settings;
  const messages = entries.map(messageOf);
  const [first] = entries as [StoredEntry<M>];
  const part = await parts.write(threadId, base, messages, { signal });
  const continuation: Continuation = {
    behind,
    first: [first.message.id, first.createdAt],
    leftAt,
    bytes: byteLength(jsonCodec.encode(messages)),
    ...(ttlMs !== undefined && { expiresAt: now() + ttlMs }),
    ...(entries.some(({ uses }) => uses) && { files: true as const }),
  };
  return [part, continuation];
}

function tooLarge(cause: StoreError): StoreError {
  return new StoreError(
    "TOO_LARGE",
    "the messages that would stay as a sibling do not fit in one commit; an edit can drop them (keepSibling: false)",
    { cause },
  );
}
