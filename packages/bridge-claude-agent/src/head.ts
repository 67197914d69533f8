import { type Listed, type Member, parseMetadata, type Snapshot } from "@scrollback/collections";
import type { MessageStore, Revision } from "@scrollback/store-core";
import { listingOf } from "./keys.ts";
import type { SessionKey } from "./session-store.ts";

const owner = { package: "@scrollback/bridge-claude-agent", kind: "Claude transcript", isListed: true };

/** The metadata of a transcript's thread. */
export interface Head {
  readonly version: 1;
  /** Random, new for each creation of the transcript. */
  readonly incarnation: string;
  /** The number of commits of this incarnation. */
  readonly writes: number;
  /** Milliseconds since 1970; never goes back. */
  readonly mtime: number;
  /** The SDK's summary of all entries. Absent for subagents, and if entries were stored without the SDK's function. */
  readonly summary?: Record<string, unknown>;
  readonly listed: Listed;
}

/** What lists tell of a transcript. */
export interface Told {
  readonly summary?: Record<string, unknown>;
}

/** A transcript's head at one revision, as lists need it. */
export interface TranscriptHead extends Snapshot<Told> {
  readonly head: Head;
}

/** The head in the metadata of a transcript; undefined for a missing transcript. */
export function headIn({ threadId }: MessageStore, metadata: unknown): Head | undefined {
  return parseMetadata<Head>(threadId, metadata, owner);
}

/** What lists tell of a head. */
export function draftOf({ writes, mtime, summary }: Omit<Head, "listed">) {
  return { version: writes, order: mtime, told: summary ? { summary } : {} };
}

/** A head as lists need it. */
export function snapshotOf(head: Head, revision: Revision): TranscriptHead {
  const { incarnation, listed } = head;
  return { ...draftOf(head), incarnation, listed, revision, head };
}

/** A transcript in its list. */
export function memberOf(key: SessionKey, store: MessageStore): Member<Told, TranscriptHead> {
  const { index, key: entryKey } = listingOf(key);
  return {
    ...{ threadId: store.threadId, key: entryKey, bases: [index] },
    async read(signal) {
      const { metadata, revision } = await store.read({ limit: 0, ...(signal && { signal }) });
      const head = headIn(store, metadata);
      return head && revision !== null ? snapshotOf(head, revision) : { revision };
    },
    async place({ head, revision }, listed) {
      const next = { ...head, writes: head.writes + 1, listed };
      const written = await store.commit({ metadata: next }, { expectedRevision: revision });
      return snapshotOf(next, String(written));
    },
  };
}
