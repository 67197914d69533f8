import type { StoreFactory } from "@scrollback/store-core";
import { expect, vi } from "vitest";
import { event } from "../src/contract/values.ts";
import { Directories } from "../src/directories.ts";
import { type ListSessionsRequest, SessionService } from "../src/index.ts";
import { threads } from "../src/threads.ts";

export const app = { appName: "app" };
export const ofApp = threads.directoryOfApp("app");
/** Sorts the notes of a directory into its leaves. */
export const compact = (stores: StoreFactory, threadId: string) => new Directories(stores).compact(threadId);
/** A stored directory. */
export const readDirectory = (stores: StoreFactory, threadId: string) =>
  new Directories(stores).read(threadId);
export const nameOf = (n: number) => `s${String(n).padStart(4, "0")}`;

/** The ids on all pages. */
export async function idsOf(
  sessions: SessionService,
  request: Partial<ListSessionsRequest> = {},
): Promise<string[]> {
  const ids: string[] = [];
  let pageToken: string | undefined;
  do {
    const page = await sessions.listSessions({ ...app, limit: 100, ...request, pageToken });
    ids.push(...page.sessions.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return ids;
}

/** The ids in the promised order. */
export function sorted(times: ReadonlyMap<string, number>, order: "desc" | "asc"): string[] {
  const direction = order === "desc" ? -1 : 1;
  return [...times].sort(([a, at], [b, bt]) => direction * (at - bt) || (a < b ? -1 : 1)).map(([id]) => id);
}

export async function move(
  sessions: SessionService,
  sessionId: string,
  timestamp: number,
  userId = "ada",
): Promise<void> {
  const session = await sessions.getSession({ ...app, userId, sessionId, config: { numRecentEvents: 0 } });
  if (session) await sessions.appendEvent({ session, event: event({ timestamp }) });
}

/** A service on a directory with the given number of sessions at the given times. */
export async function filled(
  stores: StoreFactory,
  count: number,
  timeOf: (n: number) => number,
  prefix = "",
) {
  let now = 0;
  const sessions = new SessionService({ stores, now: () => now });
  const times = new Map<string, number>();
  for (let n = 0; n < count; n++) {
    now = timeOf(n);
    times.set(prefix + nameOf(n), now);
    await sessions.createSession({ ...app, userId: "ada", sessionId: prefix + nameOf(n) });
  }
  await sessions.flush();
  return { sessions, times };
}

export async function expectOrder(stores: StoreFactory, times: ReadonlyMap<string, number>): Promise<void> {
  const reader = new SessionService({ stores });
  for (const order of ["desc", "asc"] as const) {
    for (const userId of [undefined, "ada"])
      expect(await idsOf(reader, { order, userId })).toEqual(sorted(times, order));
  }
}

/** Runs `work` without automatic sorting of notes: only the test sorts them. */
export async function withoutSorting<T>(work: () => Promise<T>): Promise<T> {
  const random = vi.spyOn(Math, "random").mockReturnValue(0.999);
  try {
    return await work();
  } finally {
    random.mockRestore();
  }
}
