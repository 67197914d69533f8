import { type Key, nameOf } from "@scrollback/collections";
import { invalid, isId } from "@scrollback/store-core";
import type { SessionKey } from "./session-store.ts";

/** The prefix of the transcripts' thread ids. */
export const TRANSCRIPTS = "claude:transcript";

/** The threads of lists, see docs/how-to/bridge-claude-agent.md. */
export const threads = {
  /** The sessions of a project, by id. */
  sessions: (projectKey: string) => `claude:sessions:${nameOf(projectKey)}`,
  /** The subagents' transcripts of a session, by subpath. */
  subpaths: ({ projectKey, sessionId }: SessionKey) =>
    `claude:subpaths:${nameOf(projectKey)}:${nameOf(sessionId)}`,
  leaf: (id: string) => `claude:leaf:${id}`,
};

/** The parts of a transcript's name. */
export function partsOf({ projectKey, sessionId, subpath }: SessionKey): string[] {
  return [projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])];
}

/** The directory that lists a transcript, and its member in it. */
export function listingOf(key: SessionKey): { directory: string; member: Key } {
  return key.subpath === undefined
    ? { directory: threads.sessions(key.projectKey), member: [key.sessionId] }
    : { directory: threads.subpaths(key), member: [key.subpath] };
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkKey(method: string, key: SessionKey): void {
  const { projectKey, sessionId, subpath } = Object(key) as SessionKey;
  const parts = { projectKey, sessionId, ...(subpath !== undefined && { subpath }) };
  for (const [name, part] of Object.entries(parts)) {
    const problem = isId(part);
    if (problem) invalid(`${method}: ${name} ${problem}`);
  }
}
