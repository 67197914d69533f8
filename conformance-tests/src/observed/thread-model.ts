import { trimmed } from "../trimming-oracle.ts";
import { messageOf, type ObservedChange, type ObservedThread } from "./observation.ts";

// The effect of a commit on a thread according to the clauses, with plain lists.

/** A thread at one revision, with its messages given as texts. */
export interface ThreadState {
  readonly texts: readonly string[];
  readonly metadata: string | null;
}

export const NOTHING: ThreadState = Object.freeze({ texts: [], metadata: null });

export function applyChange(state: ThreadState, change: ObservedChange, thread: ObservedThread): ThreadState {
  const { drop, append } = change;
  const kept = drop === "all" ? [] : state.texts.slice(0, Math.max(0, state.texts.length - drop));
  const metadata = change.metadata === undefined ? state.metadata : change.metadata;
  return { texts: trim([...kept, ...append], thread), metadata };
}

function trim(
  texts: readonly string[],
  { maxMessages, trimming = "turns" }: ObservedThread,
): readonly string[] {
  if (maxMessages === undefined || texts.length <= maxMessages) return texts;
  const messages = texts.map((text) => ({ text, ...messageOf(text) }));
  const kept = new Set<unknown>(trimmed(messages, maxMessages, trimming));
  return messages.filter((message) => kept.has(message)).map(({ text }) => text);
}
