// The interface of @anthropic-ai/claude-agent-sdk 0.3.330, as far as a store needs it: the bridge works without the package.

/** Which transcript. Without `subpath` it is the main one of a session; with it one of a subagent. */
export interface SessionKey {
  projectKey: string;
  sessionId: string;
  subpath?: string;
}

/** One line of a transcript: JSON that a store passes through. */
export interface SessionStoreEntry {
  type: string;
  /** The same entry has the same uuid each time it is appended. */
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

/** What the SDK shows of a session in lists. */
export interface SessionSummaryEntry {
  sessionId: string;
  /** Milliseconds since 1970. */
  mtime: number;
  /** The SDK's own. */
  data: Record<string, unknown>;
}

/** The SDK's `foldSessionSummary`: a summary with some entries more. */
export type FoldSessionSummary = (
  previous: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;
