import type { Chat, ChatEntry, Identified, ReadFiles } from "../chat.ts";
import { wholeEntries } from "../files/whole-entries.ts";
import type { ChatLocation } from "../threads.ts";
import { whileOutdated } from "../write/write-chat.ts";
import { ChatView, FIRST_LOOK, OutdatedError } from "./chat-view.ts";
import type { ChatContext } from "./context.ts";
import { publicEntry } from "./entries.ts";
import { chatOf, type Head } from "./head.ts";

const DEFAULT_EVERY_MS = 1_000;
/** The default for stores that give hints. */
const HINTED_EVERY_MS = 10_000;

/** A change that {@link OwnedChats.follow} yields. */
export type ChatChange<M> =
  | {
      readonly type: "changed";
      readonly chat: Chat;
      /** `entries` replace all messages from this index on. */
      readonly index: number;
      readonly entries: ChatEntry<M>[];
    }
  /** The chat was deleted or does not exist. No change follows. */
  | { readonly type: "gone" };

/** The options of {@link OwnedChats.follow}. */
export interface FollowOptions extends ReadFiles {
  /**
   * The interval in milliseconds at which writes of other processes are read. Default 1,000; 10,000 for stores that give hints of them
   * (`StoreFactory.watch`), which are then read at once.
   */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
}

type Followed<M> = ChatView<M> & { readonly head: Head; readonly revision: string };

/** Yields the current chat, then each change of it. */
export async function* followChat<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  { everyMs, files = "contents", signal }: FollowOptions,
): AsyncGenerator<ChatChange<M>, void, undefined> {
  const follower = context.followers.follow(location.threadId);
  const look = (limit: number | undefined) =>
    ChatView.read<M>(context.stores, location.threadId, { limit, signal });
  const changed = async (view: Followed<M>, seen: number) => {
    const change = changeOf(context, view, seen);
    if (files === "references") return change;
    const at = { revision: view.revision, signal };
    return { ...change, entries: await wholeEntries(context, location, change.entries, at) };
  };
  try {
    // Before the first read, so that no change comes between the two.
    using watch = context.stores.watch(location.threadId, follower.wake);
    const interval = everyMs ?? (watch ? HINTED_EVERY_MS : DEFAULT_EVERY_MS);
    const first = async () => {
      const view = await look(undefined);
      return isThere(view) ? { view, change: await changed(view, 0) } : undefined;
    };
    const found = await whileOutdated("follow", first, signal ? { signal } : {});
    if (!found) return yield { type: "gone" };
    yield found.change;
    let { view } = found;
    let { incarnation, writes } = view.head;
    while (!signal?.aborted) {
      // True after a write of this process, or a hint of another one's: it is then read at once.
      const isWoken = await follower.wait(interval, signal);
      if (signal?.aborted) return;
      const { revision } = view;
      let next = await look(isWoken ? FIRST_LOOK : 0);
      if (next.revision === revision) continue;
      if (!isWoken && isThere(next)) next = await look(FIRST_LOOK);
      if (!isThere(next) || next.head.incarnation !== incarnation) return yield { type: "gone" };
      const read = next;
      // Back to the entries that existed at the last commit that was seen: `writes` never decreases along a chat.
      const change = await ifCurrent(async () => {
        await read.findIndex((entry) => entry.writes <= writes);
        return await changed(read, writes);
      });
      if (!change) {
        follower.wake();
        continue;
      }
      view = next;
      ({ incarnation, writes } = next.head);
      yield change;
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    follower.close();
  }
}

/** The result of reads of a chat; undefined if it has changed meanwhile. */
async function ifCurrent<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof OutdatedError) return undefined;
    throw error;
  }
}

function changeOf<M extends Identified>(
  context: ChatContext<M>,
  { head, revision, count, entries }: Followed<M>,
  seen: number,
): Extract<ChatChange<M>, { type: "changed" }> {
  const changed = entries.filter(({ writes }) => writes > seen);
  const index = count - changed.length;
  return { type: "changed", chat: chatOf(head, revision, context), index, entries: changed.map(publicEntry) };
}

function isThere<M>(view: ChatView<M>): view is Followed<M> {
  return view.head !== undefined && !view.head.copying && view.revision !== null;
}
