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
