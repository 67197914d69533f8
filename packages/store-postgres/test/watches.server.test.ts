import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { ListenerEvents } from "../src/listener.ts";
import { Watches } from "../src/watches.ts";

type State = readonly [payload: string, isWatched: boolean, wasWatched: boolean];

/** A server of threads, and watches on it. */
function setUp({ renewMs = 3_600_000 } = {}) {
  const threads = new Map<string, State>();
  const server = {
    threads,
    calls: [] as [string[], boolean][],
    open: 0,
    closed: 0,
    hangs: false,
    refuses: false,
  };
  const errors: unknown[] = [];
  let events: ListenerEvents | undefined;
  const watches = new Watches({
    schema: "s",
    renewMs,
    onError: (error) => errors.push(error),
    open(given) {
      events = given;
      server.open++;
      return {
        async open() {
          if (server.refuses) throw new Error("refused");
        },
        async query(_, [ids, waits]) {
          const asked: string[] = JSON.parse(String(ids).replace("{", "[").replace("}", "]"));
          server.calls.push([asked, waits === true]);
          if (server.hangs) await new Promise(() => {});
          return asked.flatMap((id) => {
            const state = threads.get(id);
            return state ? [[id, ...state.map(String)]] : [];
          });
        },
        async close() {
          server.closed++;
        },
      };
    },
  });
  onTestFinished(() => watches.close());
  const count = (threadId: string) => {
    const counted = { hints: 0, watch: watches.watch(threadId, () => counted.hints++) };
    return counted;
  };
  return {
    server,
    watches,
    errors,
    count,
    notify: (payload: string) => events?.onNotification(payload),
    lose: () => events?.onEnd(),
  };
}

test("one connection has all watches, from the first to the end of the last", async () => {
  const { server, count, notify } = setUp();
  server.threads.set("a", ["pa", true, true]).set("b", ["pb", true, true]);
  const [a, again, b] = [count("a"), count("a"), count("b")];
  // It may have changed before it was watched.
  await expect.poll(() => [a.hints, again.hints, b.hints]).toEqual([1, 1, 1]);
  notify("pa");
  notify("none");
  expect([a.hints, again.hints, b.hints]).toEqual([2, 2, 1]);
  again.watch[Symbol.dispose]();
  notify("pa");
  expect([a.hints, again.hints]).toEqual([3, 2]);
  a.watch[Symbol.dispose]();
  expect(server).toMatchObject({ open: 1, closed: 0 });
  b.watch[Symbol.dispose]();
  b.watch[Symbol.dispose]();
  await expect.poll(() => server.closed).toBe(1);
  const later = count("b");
  await expect.poll(() => later.hints).toBe(1);
  expect(server.open).toBe(2);
  notify("pb");
  expect([b.hints, later.hints]).toEqual([1, 2]);
});

test("a thread that another transaction has locked is watched when it is free, and then hinted", async () => {
  const { server, count } = setUp();
  server.threads.set("a", ["pa", false, false]).set("b", ["pb", true, false]);
  const [a, b] = [count("a"), count("b")];
  await expect.poll(() => [a.hints, b.hints]).toEqual([0, 1]);
  await expect
    .poll(() => server.calls)
    .toEqual([
      [["a", "b"], false],
      [["a"], true],
    ]);
  server.threads.set("a", ["pa", true, false]);
  await expect.poll(() => a.hints).toBe(1);
});

test("a renewal hints only what was unwatched in between, deleted, or begun again", async () => {
  const { server, count } = setUp({ renewMs: 30 });
  for (const id of ["kept", "lapsed", "begun"]) server.threads.set(id, [id, true, true]);
  const [kept, lapsed, begun, missing] = ["kept", "lapsed", "begun", "missing"].map(count);
  await expect.poll(() => [kept?.hints, lapsed?.hints, begun?.hints, missing?.hints]).toEqual([1, 1, 1, 0]);
  server.threads.set("lapsed", ["lapsed", true, false]).set("begun", ["other", true, true]);
  await expect.poll(() => [(lapsed?.hints ?? 0) > 1, begun?.hints]).toEqual([true, 2]);
  server.threads.set("missing", ["missing", true, false]);
  await expect.poll(() => missing?.hints).toBeGreaterThan(0);
  expect(kept?.hints).toBe(1);
});

test("a lost connection is hinted at once, opened again, and hinted then", async () => {
  const { server, count, errors, notify, lose } = setUp();
  server.threads.set("a", ["pa", true, true]);
  const a = count("a");
  await expect.poll(() => a.hints).toBe(1);
  server.refuses = true;
  lose();
  await expect.poll(() => a.hints).toBe(2);
  await expect.poll(() => server.open).toBeGreaterThan(3);
  expect(a.hints).toBe(2);
  expect(errors.length).toBeGreaterThan(1);
  server.refuses = false;
  await expect.poll(() => a.hints).toBe(3);
  notify("pa");
  expect(a.hints).toBe(4);
  expect(server.open - server.closed).toBe(1);
});

test("a connection that does not answer a renewal in 4 s is lost", async () => {
  const { server, count, errors } = setUp({ renewMs: 50 });
  server.threads.set("a", ["pa", true, true]);
  const a = count("a");
  await expect.poll(() => a.hints).toBe(1);
  server.hangs = true;
  await expect.poll(() => a.hints).toBe(2);
  expect(errors).toEqual([expect.objectContaining({ name: "TimeoutError" })]);
  server.hangs = false;
  await expect.poll(() => a.hints).toBe(3);
});

test("a server that refuses each watch is asked with growing pauses", async () => {
  const { server, count, errors } = setUp();
  server.refuses = true;
  count("a");
  await sleep(400);
  expect(errors.length).toBeGreaterThan(1);
  expect(server.open).toBeLessThan(20);
});

test("nothing is open after close, also during the opening", async () => {
  const { server, watches, count } = setUp();
  count("a");
  await watches.close();
  await sleep(20);
  expect(server.closed).toBe(server.open);
});
