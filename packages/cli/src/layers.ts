import { isListed } from "@scrollback/collections/internal";
import type { ThreadPage } from "@scrollback/store-core";
import { isCount } from "@scrollback/store-core/internal";

/**
 * The problem of the head of a thread of a chat, a session, or the state of sessions: the metadata that its layer cannot do without.
 * Undefined for a head of any version, and for other threads.
 */
export function headProblem(
  threadId: string,
  { count, metadata }: Pick<ThreadPage<unknown>, "count" | "metadata">,
): string | undefined {
  const [, kind] = /^(chats:chat|sessions:(?:session|app|user)):/.exec(threadId) ?? [];
  if (kind === undefined) return undefined;
  const isState = kind === "sessions:app" || kind === "sessions:user";
  if (metadata === undefined)
    return count > 0 || isState ? "its head (the metadata) is gone, so its layer cannot read it" : undefined;
  const { version } = Object(metadata) as { version?: unknown };
  const isHead = isCount(version) === undefined && version !== 0;
  if (!isHead || (version === 1 && !isState && !isListed(metadata)))
    return "its head (the metadata) is not what its layer has written";
  return undefined;
}

/** What a thread is to the layer that wrote it, by its id and metadata; undefined for a thread of the application. */
export function kindOfThread(threadId: string, metadata: unknown): string | undefined {
  const { version, epoch, threadId: graphThread } = Object(metadata) as Record<string, unknown>;
  if (threadId.startsWith("chats:chat:")) return "chat";
  if (threadId.startsWith("sessions:session:")) return "session";
  if (/^sessions:(app|user):/.test(threadId)) return "state of sessions";
  if (/^part:.*:[\w-]{12}$/s.test(threadId)) return "sibling";
  // The prefix is an option of the checkpointer.
  if (/:log:[^:]*:[^:]*$/.test(threadId) && version === 1 && typeof epoch === "string") return "checkpoints";
  if (/:thread:[^:]*$/.test(threadId) && version === 1 && typeof graphThread === "string")
    return "LangGraph thread";
  return undefined;
}
