import { retry } from "@scrollback/store-core/internal";
import type { Identified } from "../chat.ts";
import { ChatView, OutdatedError } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { entryOf, type StoredEntry } from "../read/entries.ts";
import type { SweepOptions } from "./chat-files.ts";

/** Releases each file that no message of a chat has, on its path or beside it. */
export async function sweepFiles<M extends Identified>(
  context: ChatContext<M>,
  threadId: string,
  options: SweepOptions,
): Promise<void> {
  const { signal } = options;
  const find = async () => {
    const { head, revision, entries } = await ChatView.read<M>(context.stores, threadId, { signal });
    const named = Object.entries(head?.parts ?? {}).filter(([, { files }]) => files);
    const beside: StoredEntry<M>[] = [];
    for (const [part] of named) {
      const page = await context.parts.read(threadId, part, { signal });
      beside.push(...(page?.entries ?? []).map((entry) => entryOf<M>(threadId, entry)));
    }
    if (named.length > 0) {
      const again = await ChatView.read<M>(context.stores, threadId, { limit: 0, signal });
      if (again.revision !== revision) throw new OutdatedError("the chat has changed while it was read");
    }
    const { writes = 0, incarnation } = head ?? {};
    return { revision, writes, incarnation, entries: [...entries, ...beside] };
  };
  await context.files.sweep(
    threadId,
    () => retry(find, { isRetryable: (error) => error instanceof OutdatedError, signal }),
    options,
  );
}
