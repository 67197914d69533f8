import { nameOf } from "@scrollback/collections";

/**
 * The thread ids of sessions: see docs/reference/sessions.md. Different names give different ids: colons and other separators
 * are escaped, and an escape never produces `#`, which marks a hash.
 */
export const threads = {
  app: (appName: string) => `sessions:app:${nameOf(appName)}`,
  user: (appName: string, userId: string) => `sessions:user:${nameOf(appName)}:${nameOf(userId)}`,
  session: (appName: string, userId: string, sessionId: string) =>
    `sessions:session:${nameOf(appName)}:${nameOf(userId)}:${nameOf(sessionId)}`,
  directoryOfApp: (appName: string) => `sessions:directory-of-app:${nameOf(appName)}`,
  directoryOfUser: (appName: string, userId: string) =>
    `sessions:directory-of-user:${nameOf(appName)}:${nameOf(userId)}`,
  leaf: (id: string) => `sessions:leaf:${id}`,
};
