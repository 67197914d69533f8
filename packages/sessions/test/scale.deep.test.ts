import { performance } from "node:perf_hooks";
import { startServer } from "@scrollback/conformance/servers";
import { createMemoryStores, openStores, type StoreFactory } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { describe, expect, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { SessionService } from "../src/index.ts";
import { type Head, messageOf } from "../src/read/session-thread.ts";
import { threads } from "../src/threads.ts";
import { event } from "./contract/values.ts";

const SESSIONS = 20_000;
const OF_ONE_USER = 2_000;
const EVENTS = 50_000;
/**
 * A page needs two sequential rounds of requests; the reads that it is compared with need one round. Medians of one run on a
 * busy machine vary. A cost that grew with the number of sessions would be hundreds of times as high.
 */
const margins: Record<string, number> = { memory: 8, SQLite: 5, Redis: 5 };
/**
 * In memory a read costs almost nothing, so the comparison is between decoding 20 entries and decoding 20 heads. Decoding all 20,000
 * entries would cost a hundred times as much.
 */
const pageMargins: Record<string, number> = { memory: 40, SQLite: 15, Redis: 5 };

const backends: Record<string, () => Promise<{ stores: StoreFactory; stop(): Promise<unknown> }>> = {
  memory: async () => ({ stores: createMemoryStores(), stop: async () => undefined }),
  SQLite: async () => {
    const stores = createSqliteStores({ url: scratchUrl(), synchronous: "normal" });
    return { stores, stop: async () => undefined };
  },
  Redis: async () => {
    const server = await startServer("redis");
    return { stores: await openStores(server.url), stop: server.stop };
  },
};

/** Medians in milliseconds, measured in turns. */
async function medians(...works: (() => Promise<unknown>)[]): Promise<number[]> {
  const times = works.map((): number[] => []);
  for (let round = 0; round < 40; round++) {
    for (const [index, work] of works.entries()) {
      const start = performance.now();
      await work();
      times[index]?.push(performance.now() - start);
    }
  }
  return times.map((of) => of.sort((a, b) => a - b)[of.length >> 1] ?? 0);
}

function report(what: string, [ours = 0, compared = 0]: number[]): void {
  console.log(
    `${what}: ${ours.toFixed(2)} ms against ${compared.toFixed(2)} ms (${(ours / compared).toFixed(2)})`,
  );
}

describe.each(Object.keys(backends))("on %s", (backend) => {
  test("reading the newest 20 events takes the same time at 50,000 and at 20 events", async () => {
    const { stores, stop } = (await backends[backend]?.()) ?? {
      stores: createMemoryStores(),
      stop: async () => 0,
    };
    const sessions = new SessionService({ stores });
    const keyOf = (sessionId: string) => ({ appName: "app", userId: "ada", sessionId });
    for (const [sessionId, count] of [
      ["long", EVENTS],
      ["short", 20],
    ] as const) {
      await sessions.createSession(keyOf(sessionId));
      const store = stores.open(threads.session("app", "ada", sessionId));
      const head = (await store.read({ limit: 0 })).metadata as Head;
      const append = Array.from({ length: count }, () => messageOf(event()));
      await store.commit({ append, metadata: { ...head, events: count } });
    }
    const get = (sessionId: string) => () =>
      sessions.getSession({ ...keyOf(sessionId), config: { numRecentEvents: 20 } });
    expect((await get("long")())?.events).toHaveLength(20);
    const [long = 0, short = 0] = await medians(get("long"), get("short"));
    report(`${backend}: opening a session of 50,000 events against one of 20`, [long, short]);
    expect(long).toBeLessThan(short * (margins[backend] ?? 1));
    const session = await get("long")();
    if (session) await sessions.appendEvent({ session, event: event() });
    await stores.close();
    await stop();
  });

  test("20,000 sessions of an app and 2,000 of a user: a first page takes the time of 20 session reads, and creation is not slower", async () => {
    const { stores, stop } = (await backends[backend]?.()) ?? {
      stores: createMemoryStores(),
      stop: async () => 0,
    };
    const sessions = new SessionService({ stores });
    const userOf = (n: number) => (n % 10 === 0 ? "ada" : `user-${n % 500}`);
    const idOf = (n: number) => `s${String(n).padStart(5, "0")}`;
    const batches: number[] = [];
    for (let n = 0; n < SESSIONS; n += 100) {
      const start = performance.now();
      await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          sessions.createSession({ appName: "app", userId: userOf(n + i), sessionId: idOf(n + i) }),
        ),
      );
      batches.push(performance.now() - start);
    }
    await sessions.flush();
    const medianOf = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
    const [first, last] = [medianOf(batches.slice(0, 40)), medianOf(batches.slice(-40))];
    report(`${backend}: creating 100 sessions, the last 4,000 against the first 4,000`, [last, first]);
    expect(last).toBeLessThan(first * (margins[backend] ?? 1));

    const reader = new SessionService({ stores });
    const twenty = Array.from({ length: 20 }, (_, n) => ({
      appName: "app",
      userId: userOf(n),
      sessionId: idOf(n),
    }));
    const reads = () =>
      Promise.all(twenty.map((key) => reader.getSession({ ...key, config: { numRecentEvents: 0 } })));
    for (const request of [
      { appName: "app" },
      { appName: "app", userId: "ada" },
      { appName: "app", order: "asc" as const },
    ]) {
      const page = await reader.listSessions(request);
      expect(page.sessions).toHaveLength(20);
      const measured = await medians(() => reader.listSessions(request), reads);
      report(`${backend}: first page of ${JSON.stringify(request)} against 20 reads`, measured);
      expect(measured[0]).toBeLessThan((measured[1] ?? 0) * (pageMargins[backend] ?? 1));
    }

    for (const [request, expected] of [
      [{ appName: "app", userId: "ada" }, OF_ONE_USER],
      [{ appName: "app" }, SESSIONS],
    ] as const) {
      const seen = new Set<string>();
      let count = 0;
      let before = Number.POSITIVE_INFINITY;
      let pageToken: string | undefined;
      do {
        const page = await reader.listSessions({ ...request, limit: 100, pageToken });
        for (const { id, userId, lastUpdateTime } of page.sessions) {
          seen.add(`${userId} ${id}`);
          count += 1;
          expect(lastUpdateTime).toBeLessThanOrEqual(before);
          before = lastUpdateTime;
        }
        pageToken = page.nextPageToken;
      } while (pageToken !== undefined);
      expect([count, seen.size]).toEqual([expected, expected]);
    }

    // A moved session has its new position at once in the service that moved it, and in others after the flush.
    const moved = await sessions.getSession({ appName: "app", userId: "ada", sessionId: idOf(0) });
    if (moved) await sessions.appendEvent({ session: moved, event: event({ timestamp: 9e9 }) });
    expect((await sessions.listSessions({ appName: "app", limit: 1 })).sessions[0]?.id).toBe(idOf(0));
    await sessions.flush();
    expect((await reader.listSessions({ appName: "app", limit: 1 })).sessions[0]?.id).toBe(idOf(0));
    await stores.close();
    await stop();
  }, 400_000);
});
