import { nameOf } from "@scrollback/collections";
import { isId } from "@scrollback/store-core/driver";
import { checkValue } from "@scrollback/store-core/internal";
import type { SessionKey } from "./session-store.ts";

/** The prefix of the transcripts' thread ids. */
export const TRANSCRIPTS = "claude:transcript";

/** The index of a project's sessions, see docs/how-to/bridges.md. */
export function sessionsOf(projectKey: string): string {
  return `claude:sessions:${nameOf(projectKey)}`;
}

/** The index of the subagents' transcripts of a session. */
export function subpathsOf({ projectKey, sessionId }: SessionKey): string {
  return `claude:subpaths:${nameOf(projectKey)}:${nameOf(sessionId)}`;
}

/** The index that has a transcript, and the key of its entry there. */
export function listingOf(key: SessionKey): { readonly index: string; readonly key: string } {
  return key.subpath === undefined
    ? { index: sessionsOf(key.projectKey), key: key.sessionId }
    : { index: subpathsOf(key), key: key.subpath };
}

/** The parts of a transcript's name. */
export function partsOf({ projectKey, sessionId, subpath }: SessionKey): string[] {
  return [projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])];
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkKey(method: string, key: SessionKey): void {
  const { projectKey, sessionId, subpath } = Object(key) as SessionKey;
  const parts = { projectKey, sessionId, ...(subpath !== undefined && { subpath }) };
  for (const [name, part] of Object.entries(parts)) checkValue(method, name, isId, part);
}
