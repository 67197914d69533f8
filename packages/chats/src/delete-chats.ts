import { setImmediate as otherEvents } from "node:timers/promises";
import type { MarkedDirectories, MemberOf } from "@scrollback/collections";
import { retryOnConflict, StoreError } from "@scrollback/store-core";
import { LONGEST_PAUSE, MAX_ATTEMPTS, pauseAfter } from "./attempts.ts";
import type { Identified } from "./chat.ts";
import { ChatView } from "./chat-view.ts";
import type { Head, StoredSummary } from "./head.ts";
import { ifReadable, readMember } from "./read-member.ts";
import type { RunContext } from "./run-context.ts";
import { type ChatLocation, locationOf, threads } from "./threads.ts";

const DELETED_AT_ONCE = 8;
const PAGE = 256;

/**
 * Deletes a chat's thread, and then all of its data in the directory. Returns false if the chat does not exist, if it was
 * unreadable, so that only the directory can tell what it has of it, or if `isMeant` returns false for it.
 *
 * @param isMeant absent: the chat is deleted, readable or not.
 */
export async function deleteChat<M extends Identified>(
  context: RunContext<M>,
  { chatId, threadId, directory }: ChatLocation,
  signal: AbortSignal | undefined,
  isMeant?: (head: Head) => boolean,
): Promise<boolean> {
  const { stores, directories, runs, followers } = context;
  let deleted: string | undefined;
  const attempt = async () => {
    const read = ChatView.read<M>(stores, threadId, { limit: 0, signal });
    const view = isMeant ? await read : await ifReadable(read);
    if (view === "unreadable" || !view.head || view.revision === null) {
      if (view === "unreadable") await stores.deleteThread(threadId, { ...(signal && { signal }) });
      // The content of an expired chat may still be stored.
      else if (deleted === undefined)
        await stores.deleteThread(threadId, { expectedRevision: view.revision, ...(signal && { signal }) });
      followers.notify(threadId);
      return false;
    }
    const { head, revision } = view;
    const { incarnation, activeAt: order } = head;
    // The chat of the first attempt is deleted. This one was created since.
    if (deleted !== undefined && deleted !== incarnation) return true;
    if (isMeant?.(head) === false) return false;
    deleted = incarnation;
    const member = { key: [chatId], incarnation, order };
    await removeMember(directories, directory, member, () =>
      stores.deleteThread(threadId, { expectedRevision: revision, ...(signal && { signal }) }),
    );
    runs.abort(threadId, head.run?.id, "deleted");
    followers.notify(threadId);
    return true;
  };
  return await retryOnConflict(attempt, { signal, attempts: MAX_ATTEMPTS + 1, longestPause: LONGEST_PAUSE });
}

/**
 * Removes a member from the directory with its thread. If the directory cannot be written, because the database is full or the
 * directory is damaged, the thread is deleted all the same.
 *
 * @throws what the directory throws, with a message that says what is left.
 */
async function removeMember(
  directories: MarkedDirectories<StoredSummary>,
  directory: string,
  member: MemberOf & { readonly order: number },
  remove: () => Promise<void>,
): Promise<void> {
  let progress = "marking" as "marking" | "deleting" | "deleted";
  try {
    await directories.remove(directory, member, async () => {
      progress = "deleting";
      await remove();
      progress = "deleted";
    });
  } catch (error) {
    if (progress === "deleting" || !StoreError.is(error) || concernsAll(error)) throw error;
    if (progress === "marking") await remove();
    try {
      // The space of the thread may be enough for the directory.
      await directories.purge(directory, member);
    } catch (cause) {
      throw new StoreError(
        error.code,
        `the chat is deleted, but the list may still have its title and the start of its newest message; delete it again: ${error.message}`,
        { cause },
      );
    }
  }
}

/**
 * Removes what the directory has of a chat that does not exist: it has expired, or its deletion was not completed. Lists the directory,
 * which completes unfinished deletions of other chats in the background.
 */
export async function finishDeletion<M extends Identified>(
  context: RunContext<M>,
  owner: string,
  { chatId, directory }: ChatLocation,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { entries } = await context.directories.page(directory, {
    ...{ limit: PAGE, includesExpired: true, signal },
    filter: ({ key }) => key[0] === chatId,
    read: ([member = ""]) => readMember(context, owner, member, signal),
  });
  for (const { key, incarnation, order } of entries) {
    const member = await readMember(context, owner, chatId, signal);
    if (member !== "unreadable" && member?.incarnation !== incarnation)
      await context.directories.purge(directory, { key, incarnation, order });
  }
}

/**
 * Deletes all chats of an owner, and then the directory. A chat that cannot be deleted does not keep the others.
 *
 * @throws the error of the first chat that cannot be deleted, after the others are.
 */
export async function deleteAllChats<M extends Identified>(
  context: RunContext<M>,
  owner: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { directories } = context;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    while (await deleteListed(context, owner, signal)) signal?.throwIfAborted();
    await directories.flush();
    if (await directories.removeDirectory(threads.directory(owner))) return;
    await pauseAfter(attempt, signal);
  }
  throw new StoreError(
    "CONFLICT",
    "deleteAll: another process is writing to a chat of the owner, or died within the last 5 minutes while it was; call it again",
  );
}

/** Deletes the chats of all pages of the directory. Returns whether there were any. */
async function deleteListed<M extends Identified>(
  context: RunContext<M>,
  owner: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { directories } = context;
  const directory = threads.directory(owner);
  let isAny = false;
  const failures: unknown[] = [];
  let next: string | undefined;
  do {
    const from = next === undefined ? {} : { pageToken: next };
    const { entries, nextPageToken } = await directories.page(directory, {
      ...{ limit: PAGE, includesExpired: true, signal, ...from },
      read: async ([chatId = ""]) => {
        const member = await readMember(context, owner, chatId, signal);
        if (member !== "unreadable") return member;
        // Before its first entry only its mark names it.
        await context.stores.deleteThread(threads.chat(owner, chatId), { ...(signal && { signal }) });
        return undefined;
      },
    });
    next = nextPageToken;
    isAny ||= entries.length > 0;
    const waiting = entries.values();
    const deleteNext = async () => {
      for (const { key, incarnation, order } of waiting) {
        try {
          const isFound = await deleteChat(context, locationOf(owner, key[0] ?? ""), signal);
          // Its thread was deleted, but not by this package.
          if (!isFound) await directories.purge(directory, { key, incarnation, order });
        } catch (error) {
          if (concernsAll(error)) throw error;
          failures.push(error);
        }
        // A store in this process, such as SQLite, never waits for I/O. Without this pause no other event would be processed.
        await otherEvents();
      }
    };
    await Promise.all(Array.from({ length: DELETED_AT_ONCE }, deleteNext));
  } while (next !== undefined);
  if (failures.length > 0) throw failures[0];
  return isAny;
}

/** Whether an error is an outage or the end of the call, so that no other chat could be deleted either. */
function concernsAll(error: unknown): boolean {
  return !StoreError.is(error) || error.retryable || error.code === "ABORTED" || error.code === "CLOSED";
}
