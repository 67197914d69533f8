import type { SessionEvent, SessionService } from "../../src/index.ts";

/** The app of the golden sessions. */
export const app = { appName: "travel: golden" };
/** The session with every kind of content. */
export const rome = { ...app, userId: "ada", sessionId: "rome/1" };

/** Its events. The processes of the last two died before they wrote the state of app and user; the newest is still pending. */
export const events: readonly SessionEvent[] = [
  { id: "1", author: "user", timestamp: 1_800_000_000.25, content: "Which tram?", invocationId: "i" },
  {
    id: "2",
    author: "agent",
    timestamp: 1_800_000_001,
    content: { parts: [{ text: "Line 8" }], at: new Date(5) },
    actions: { stateDelta: { own: null, "app:greeting": "Hoi", "user:line": 8, "temp:t": 1 }, transfer: "x" },
  },
  { id: "3", author: "user", timestamp: 1_800_000_002, content: "Thanks" },
  { id: "4", author: "agent", timestamp: 1_800_000_003, actions: { stateDelta: { "app:died": 1 } } },
  {
    id: "5",
    author: "agent",
    timestamp: 1_800_000_004,
    actions: { stateDelta: { "app:pending": 2, "user:pending": 3, own: 4 } },
  },
];

/** The results of a service for the golden sessions, which users may store. Plain JSON. */
export async function factsOf(service: SessionService) {
  const first = await service.listSessions({ ...app, limit: 50 });
  const oldest = await service.listSessions({ ...app, limit: 50, order: "asc" });
  const idsFrom = async (order: "desc" | "asc", token: string | undefined) => {
    const ids: string[] = [];
    for (let pageToken = token; pageToken !== undefined; ) {
      const page = await service.listSessions({ ...app, order, pageToken, limit: 40 });
      ids.push(...page.sessions.map(({ id }) => id));
      pageToken = page.nextPageToken;
    }
    return ids;
  };
  const facts = {
    tokens: { desc: first.nextPageToken, asc: oldest.nextPageToken },
    newest: first.sessions.map(({ id }) => id),
    oldest: oldest.sessions.map(({ id }) => id),
    behindNewest: await idsFrom("desc", first.nextPageToken),
    behindOldest: await idsFrom("asc", oldest.nextPageToken),
    session: await service.getSession(rome),
    ofApp: await service.getAppState(app),
    ofUser: await service.getUserState({ ...app, userId: rome.userId }),
  };
  return JSON.parse(JSON.stringify(facts)) as typeof facts;
}
