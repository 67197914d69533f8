import type { Revision } from "@scrollback/store-core";
import type { ChatEntry, Identified } from "../chat.ts";
import type { ChatContext } from "../read/context.ts";
import { entryOf, type StoredEntry } from "../read/entries.ts";
import type { ChatLocation } from "../threads.ts";
import type { Continuation, Continuations } from "./continuations.ts";
import { storePart } from "./leave.ts";

/** A continuation that is not active, with its messages. */
export interface ChatContinuation<M> {
  readonly id: string;
  /** The id of the continuation that it branches off, which comes before it; absent: the path of the chat. */
  readonly in?: string;
  /** The message before it; `null`: it begins the chat. */
  readonly behind: string | null;
  /** When it was left, in milliseconds since 1970. */
  readonly leftAt: number;
  /** At least one. */
  readonly entries: readonly ChatEntry<M>[];
}

/** A continuation as it is stored. */
export interface StoredContinuation<M> extends ChatContinuation<M> {
  readonly entries: readonly StoredEntry<M>[];
}

/**
 * The continuations of a chat, each after the one that it branches off. Those that are not there any more are left out, with what
 * branches off them.
 */
export async function readContinuations<M extends Identified>(
  { parts }: ChatContext<M>,
  threadId: string,
  all: Continuations,
  signal: AbortSignal | undefined,
): Promise<StoredContinuation<M>[]> {
  const read = async (of: string | undefined): Promise<StoredContinuation<M>[]> => {
    const found: StoredContinuation<M>[] = [];
    for (const [id, one] of Object.entries(all)) {
      if (one.in !== of) continue;
      const page = await parts.read(threadId, id, { signal });
      if (!page) continue;
      const { behind, leftAt } = one;
      const entries = page.entries.map((entry) => entryOf<M>(threadId, entry));
      found.push({ id, ...(of !== undefined && { in: of }), behind, leftAt, entries }, ...(await read(id)));
    }
    return found;
  };
  return await read(undefined);
}

/** Stores continuations as parts of a chat's thread, for the commit at `base` that names them. */
export async function writeContinuations<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  base: { readonly revision: Revision; readonly writes: number },
  path: readonly StoredEntry<M>[],
  all: readonly StoredContinuation<M>[],
  signal: AbortSignal | undefined,
): Promise<Continuations> {
  const made = new Map<string, readonly [part: string, Continuation]>();
  const entriesOf = new Map(all.map(({ id, entries }) => [id, entries]));
  for (const { id, in: of, behind, leftAt, entries } of all) {
    const branch: readonly ChatEntry<M>[] = of === undefined ? path : (entriesOf.get(of) ?? []);
    const before = behind === null ? -1 : branch.findLastIndex(({ message }) => message.id === behind);
    const beside = branch[before + 1];
    const { append } = await context.files.prepare(location, base, { append: entries }, signal);
    const stored = { behind, leftAt, entries: append.map((entry) => ({ ...entry, writes: 0 })) };
    const [part, continuation] = await storePart(context, location.threadId, base.revision, stored, signal);
    made.set(id, [
      part,
      {
        ...continuation,
        ...(of !== undefined && { in: made.get(of)?.[0] ?? of }),
        ...(beside && { beside: [beside.message.id, beside.createdAt] }),
      },
    ]);
  }
  return Object.fromEntries(made.values());
}
