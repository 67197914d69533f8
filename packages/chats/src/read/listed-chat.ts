import type { Member, Snapshot } from "@scrollback/collections";
import { partsOf } from "@scrollback/collections/internal";
import type { Revision, StoreFactory } from "@scrollback/store-core";
import type { Identified } from "../chat.ts";
import { basesOf, type ChatLocation } from "../threads.ts";
import { ChatView } from "./chat-view.ts";
import type { Head, StoredSummary } from "./head.ts";

/** A chat as its lists need it. */
export interface ListedChat extends Snapshot<StoredSummary> {
  readonly head: Head;
}

/** What the lists of a chat need of its head. A chat that is being copied is hidden; a list reads the lease of a run. */
export function draftOf(head: Head) {
  const { version, id, incarnation, writes, listed, metadata, operations, parts, movesTo, ...rest } = head;
  const told: StoredSummary | undefined = rest.copying ? undefined : rest;
  return { version: writes, order: head.activeAt, told, isDoubtful: head.run !== undefined };
}

/** A chat at a revision, for its lists. */
export function listedAs(head: Head, revision: Revision, expiresAt?: number): ListedChat {
  const { incarnation, listed } = head;
  return { ...draftOf(head), ...{ head, revision, incarnation, listed, expiresAt } };
}

/** What a chat's lists need. */
interface MemberContext {
  readonly stores: StoreFactory;
  /** Releases the files of a chat that was deleted, and the text of its running answer. */
  release(threadId: string, signal: AbortSignal | undefined): Promise<void>;
  /** Releases the files that earlier chats of a thread have left. */
  sweep(threadId: string, signal: AbortSignal | undefined): Promise<void>;
}

/** A chat for its lists: the owner may be known only as a part of the thread id. `report` gets the error of a damaged one. */
export function memberOf<M extends Identified>(
  { stores, release, sweep }: MemberContext,
  { threadId, chatId: key, ownerName }: Omit<ChatLocation, "owner">,
  report?: (error: unknown) => void,
): Member<StoredSummary, ListedChat> {
  return {
    ...{ threadId, key },
    parts: ({ head }) => partsOf(head),
    release: (signal) => release(threadId, signal),
    sweep: (signal) => sweep(threadId, signal),
    // Only deletions ask for them.
    get bases() {
      return basesOf(ownerName);
    },
    async read(signal) {
      const { head, revision, expiresAt } = await ChatView.read<M>(stores, threadId, {
        limit: 0,
        signal,
      }).catch((error) => {
        report?.(error);
        throw error;
      });
      return head && revision !== null ? listedAs(head, revision, expiresAt) : { revision };
    },
    async place({ head, revision, expiresAt }, listed) {
      const placed = { ...head, listed, writes: head.writes + 1 };
      const written = await stores
        .open(threadId)
        .commit({ metadata: placed }, { expectedRevision: revision });
      return listedAs(placed, String(written), expiresAt);
    },
  };
}
