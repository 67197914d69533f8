import { setImmediate as otherEvents } from "node:timers/promises";
import type { MarkedPageRequest } from "@scrollback/collections";
import { retryOnConflict, StoreError } from "@scrollback/store-core";
import { LONGEST_PAUSE, MAX_ATTEMPTS, pauseAfter } from "./attempts.ts";
import type { Identified } from "./chat.ts";
import { ChatView } from "./chat-view.ts";
import type { Head, StoredSummary } from "./head.ts";
import { readMember } from "./read-member.ts";
import type { RunContext } from "./run-context.ts";
import { type ChatLocation, locationOf, threads } from "./threads.ts";

const DELETED_AT_ONCE = 8;
const PAGE = 256;

/**
 * Deletes a chat's thread, and then all of its data in the directory. Returns false if the chat does not exist, or if `isMeant`
 * returns false for it.
 */
export async function deleteChat<M extends Identified>(
  { stores, directories, runs, followers }: RunContext<M>,
  { chatId, threadId, directory }: ChatLocation,
  signal: AbortSignal | undefined,
  isMeant: (head: Head) => boolean = () => true,
): Promise<boolean> {
  let deleted: string | undefined;
  const attempt = async () => {
    const { head, revision } = await ChatView.read<M>(stores, threadId, { limit: 0, signal });
    if (!head || revision === null) {
      // The content of an expired chat may still be stored.
      if (revision === null && deleted === undefined)
        await stores.deleteThread(threadId, { expectedRevision: null, ...(signal && { signal }) });
      return false;
    }
    const { incarnation, activeAt: order } = head;
    // The chat of the first attempt is deleted. This one was created since.
    if (deleted !== undefined && deleted !== incarnation) return true;
    if (!isMeant(head)) return false;
    deleted = incarnation;
    await directories.remove(directory, { key: [chatId], incarnation, order }, () =>
      stores.deleteThread(threadId, { expectedRevision: revision, ...(signal && { signal }) }),
    );
    runs.abort(threadId, head.run?.id, "deleted");
    followers.notify(threadId);
    return true;
  };
  return await retryOnConflict(attempt, { signal, attempts: MAX_ATTEMPTS + 1, longestPause: LONGEST_PAUSE });
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
  const filter: PageOf["filter"] = ({ key }) => key[0] === chatId;
  const { entries } = await pageOf(context, owner, { limit: PAGE, includesExpired: true, filter, signal });
  for (const { key, incarnation, order } of entries) {
    const member = await readMember(context, owner, chatId, signal);
    if (member?.incarnation !== incarnation)
      await context.directories.purge(directory, { key, incarnation, order });
  }
}

/** Deletes all chats of an owner, and then the directory. */
export async function deleteAllChats<M extends Identified>(
  context: RunContext<M>,
  owner: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { directories } = context;
  const directory = threads.directory(owner);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    for (;;) {
      const { entries } = await pageOf(context, owner, { limit: PAGE, includesExpired: true, signal });
      if (entries.length === 0) break;
      const waiting = entries.values();
      const deleteNext = async () => {
        for (const { key, incarnation, order } of waiting) {
          const isFound = await deleteChat(context, locationOf(owner, key[0] ?? ""), signal);
          // Its thread was deleted, but not by this package.
          if (!isFound) await directories.purge(directory, { key, incarnation, order });
          // A store in this process, such as SQLite, never waits for I/O. Without this pause no other event would be processed.
          await otherEvents();
        }
      };
      await Promise.all(Array.from({ length: DELETED_AT_ONCE }, deleteNext));
    }
    await directories.flush();
    if (await directories.removeDirectory(directory)) return;
    await pauseAfter(attempt, signal);
  }
  throw new StoreError(
    "CONFLICT",
    "deleteAll: another process is writing to a chat of the owner, or died within the last 5 minutes while it was; call it again",
  );
}

type PageOf = Pick<MarkedPageRequest<StoredSummary>, "limit" | "includesExpired" | "filter" | "signal">;

async function pageOf<M extends Identified>(context: RunContext<M>, owner: string, request: PageOf) {
  const read = ([chatId = ""]: readonly string[]) => readMember(context, owner, chatId, request.signal);
  return await context.directories.page(threads.directory(owner), { ...request, read });
}
