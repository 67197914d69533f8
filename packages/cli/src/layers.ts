import { isListed } from "@scrollback/collections/internal";
import type { ThreadPage } from "@scrollback/store-core";
import { isCount } from "@scrollback/store-core/internal";

/** The layers and bridges, as the ids of their threads begin: what such a thread holds is theirs, not a conversation of messages. */
const LAYERS = [
  ...["chats", "sessions"],
  ...["claude", "genkit", "langchain", "langgraph", "langgraph-store", "openai", "strands"],
];

/** The beginning of a thread's id if a layer with its default prefix has written it, such as `chats:`; otherwise undefined. */
export function layerOf(threadId: string): string | undefined {
  const layer = LAYERS.find((name) => threadId.startsWith(`${name}:`));
  return layer && `${layer}:`;
}

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
