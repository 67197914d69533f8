import { StoreError } from "@scrollback/store-core";
import type { ChatEntry, Identified } from "../chat.ts";
import { ChatView, OutdatedError } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import type { ChatLocation } from "../threads.ts";

/**
 * The entries of a chat at a revision, with the contents of their files.
 *
 * @throws OutdatedError if a file was erased with a message that the chat does not have any more. StoreError `CORRUPT` if one is not there.
 */
export async function wholeEntries<M extends Identified>(
  { files, stores }: Pick<ChatContext<M>, "files" | "stores">,
  location: ChatLocation,
  entries: readonly ChatEntry<M>[],
  { revision, signal }: { readonly revision: string; readonly signal: AbortSignal | undefined },
): Promise<ChatEntry<M>[]> {
  try {
    return await files.restore(location, entries, signal);
  } catch (error) {
    if (!StoreError.is(error, "CORRUPT")) throw error;
    const now = await ChatView.read<M>(stores, location.threadId, { limit: 0, signal });
    if (now.revision !== revision) throw new OutdatedError("the chat has changed while its files were read");
    throw error;
  }
}
