// The interface of @anthropic-ai/claude-agent-sdk 0.3.330, as far as a store needs it: the bridge works without the package.

/** The key of a transcript: without `subpath` the main transcript of a session, with it a subagent's. */
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

/** A session in the SDK's lists. */
export interface SessionSummaryEntry {
  sessionId: string;
  /** Milliseconds since 1970. */
  mtime: number;
  /** Opaque data of the SDK. */
  data: Record<string, unknown>;
}

/** The SDK's `foldSessionSummary`: returns a summary that includes further entries. */
export type FoldSessionSummary = (
  previous: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;
