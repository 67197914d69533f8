import { nameOf } from "@scrollback/collections";

/**
 * The thread ids of sessions: see docs/reference/sessions.md. Different names give different ids: colons and other separators
 * are escaped, and an escape never produces `#`, which marks a hash.
 */
export const threads = {
  app: (appName: string) => `sessions:app:${nameOf(appName)}`,
  user: (appName: string, userId: string) => `sessions:user:${nameOf(appName)}:${nameOf(userId)}`,
  /** The prefix of the ids of all sessions of an app. */
  sessions: (appName: string) => `sessions:session:${nameOf(appName)}:`,
  session: (appName: string, userId: string, sessionId: string) =>
    `sessions:session:${nameOf(appName)}:${nameOf(userId)}:${nameOf(sessionId)}`,
};

/** The names of the indexes that list sessions. */
export const indexes = {
  app: (appName: string) => `sessions:of-app:${nameOf(appName)}`,
  user: (appName: string, userId: string) => `sessions:of-user:${nameOf(appName)}:${nameOf(userId)}`,
};
