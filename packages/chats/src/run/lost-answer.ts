import type { ChatEntry } from "../chat.ts";

/** The end of an answer whose process died. */
export const LOST = { status: "failed", error: "the process that made the answer was lost" } as const;

/** The entries, with the answer of a lost run closed as failed. */
export function withLostAnswer<M extends { readonly id: string }, E extends ChatEntry<M>>(
  entries: readonly E[],
  messageId: string,
  closeAnswer: (message: M) => M,
): E[] {
  return entries.map((entry) =>
    entry.message.id === messageId && entry.status === "partial"
      ? { ...entry, message: closeAnswer(entry.message), ...LOST }
      : entry,
  );
}
