import type { ChatMessage } from "./message.ts";

/**
 * A history as `reduce` shortens it, with what the turn is about: the last message, and the exchange that it continues if it is a tool's.
 * If `reduce` drops that, it is added unchanged: otherwise an approved tool would not run, and a result or a question would be lost.
 */
export async function reducedHistory<M extends ChatMessage>(
  messages: readonly M[],
  reduce: (messages: readonly M[]) => Promise<readonly M[]>,
): Promise<readonly M[]> {
  const reduced = await reduce(messages);
  const last = messages.at(-1);
  if (!last) return reduced;
  if (last.role !== "tool") return reduced.at(-1)?.role === last.role ? reduced : [...reduced, last];
  const start = messages.findLastIndex(({ role }) => role === "assistant");
  const open = messages.slice(start);
  const kept = new Set(reduced.flatMap(toolIdsIn));
  if (start < 0 || open.flatMap(toolIdsIn).every((id) => kept.has(id))) return reduced;
  const earlier = messages.slice(0, start);
  const shorter = await reduce(earlier);
  const isUsers = ({ role }: M) => role === "user";
  const question = shorter.some(isUsers) ? undefined : earlier.findLast(isUsers);
  return [...shorter, ...(question ? [question] : []), ...open];
}

/** The calls, results and approvals in a message, each with the kind of its part. */
function toolIdsIn({ content }: ChatMessage): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => {
    const { type, toolCallId, approvalId } = part as {
      type: string;
      toolCallId?: string;
      approvalId?: string;
    };
    return type.startsWith("tool-") ? `${type} ${approvalId ?? toolCallId}` : [];
  });
}
