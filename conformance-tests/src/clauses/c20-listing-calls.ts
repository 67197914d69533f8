import { createStores } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import { rejection } from "../checks/errors.ts";
import { listAll, listIds, manyThreads, PROMPTLY_MS } from "../checks/listings.ts";
import type { Clause } from "../clause.ts";

/** Tests of the call of a listing: arguments, cursors, iteration, cancellation, outages. */
export const listingCalls: Clause["declare"] = (test) => {
  test("invalid arguments fail with INVALID_ARGUMENT, before any I/O", async (backend) => {
    const wrong: [string, unknown][] = [
      ...[0, -1, 1.5, 1_001, Number.NaN, Number.POSITIVE_INFINITY, "5", null].map(
        (limit): [string, unknown] => ["limit", { limit }],
      ),
      ...[5, null, "\ud800", ["a"]].map((prefix): [string, unknown] => ["prefix", { prefix }]),
      ...[5, null, "", {}].map((cursor): [string, unknown] => ["cursor", { cursor }]),
      ["signal", { signal: "stop" }],
      ["unknown option", { unknown: 1 }],
      ["options", []],
    ];
    await backend.withoutRequests(async () => {
      for (const [name, options] of wrong) {
        const list = backend.stores().listThreads(options as object);
        expect((await rejection(list, "INVALID_ARGUMENT")).message, JSON.stringify(options)).toContain(name);
      }
    });
  });

  test("an invalid cursor fails with INVALID_ARGUMENT", async (backend) => {
    const { prefix, stores } = await manyThreads(backend, 4);
    const { newer = "" } = await stores.open(`${prefix}0000`).read();
    for (const cursor of [
      "none of yours",
      "💬",
      "\0",
      "../..",
      "{}",
      "%",
      "-1",
      "1.5",
      newer,
      "x".repeat(5_000),
    ]) {
      const error = await rejection(stores.listThreads({ prefix, cursor }), "INVALID_ARGUMENT");
      expect(error.message, cursor).toContain("listThreads: cursor");
    }
  });

  test("iterateThreads yields the threads of all pages, and reads each page when needed", async (backend) => {
    const { prefix, ids, stores } = await manyThreads(backend, 25);
    const seen = new Set<string>();
    for await (const { threadId } of stores.iterateThreads({ prefix, limit: 10 })) seen.add(threadId);
    expect([...seen].sort()).toEqual(ids);
    const before = await backend.requestsOf(async () => {
      for await (const _ of stores.iterateThreads({ prefix, limit: 10 })) break;
    });
    const whole = await backend.requestsOf(async () => {
      for await (const _ of stores.iterateThreads({ prefix, limit: 10 }));
    });
    if (whole) expect(before, "requests of one page").toBeLessThan(whole);
    await backend.withoutRequests(async () => {
      stores.iterateThreads({ prefix });
      const wrong = stores.iterateThreads({ limit: 0 })[Symbol.asyncIterator]();
      await rejection(wrong.next(), "INVALID_ARGUMENT");
      const placed = stores.iterateThreads({ cursor: "a" } as object)[Symbol.asyncIterator]();
      await rejection(placed.next(), "INVALID_ARGUMENT");
    });
  });

  test("an aborted signal rejects with ABORTED, also during a listing", async (backend) => {
    const { prefix, stores } = await manyThreads(backend, 12);
    await backend.withoutRequests(async () => {
      const reason = new Error("changed my mind");
      const error = await rejection(stores.listThreads({ signal: AbortSignal.abort(reason) }), "ABORTED");
      expect(error.cause).toBe(reason);
    });
    const controller = new AbortController();
    const listing = async () => {
      let seen = 0;
      for await (const _ of stores.iterateThreads({ prefix, limit: 3, signal: controller.signal })) {
        seen += 1;
        controller.abort();
      }
      return seen;
    };
    await rejection(listing(), "ABORTED");
  });

  test("an abort while the backend hangs rejects promptly", async (backend) => {
    const { proxy, connect } = backend.requireNetwork();
    const { prefix } = await manyThreads(backend, 3);
    const stores = createStores(connect());
    await listAll(stores, { prefix });
    proxy.set({ kind: "hang" });
    const controller = new AbortController();
    const hanging = rejection(stores.listThreads({ prefix, signal: controller.signal }), "ABORTED");
    await vi.waitFor(() => expect(proxy.counters.strikes).toBeGreaterThan(0), { timeout: 20_000 });
    const start = performance.now();
    controller.abort();
    await hanging;
    expect(performance.now() - start, "milliseconds to reject").toBeLessThan(PROMPTLY_MS);
  });

  test("a listing succeeds after a short outage, and fails in a long one instead of being empty", async (backend) => {
    const { proxy, connect } = backend.requireNetwork();
    const { prefix, ids } = await manyThreads(backend, 8);
    const stores = createStores(connect());
    await listAll(stores, { prefix });
    proxy.set({ kind: "cut-reply", times: 1 });
    expect(await listIds(stores, { prefix, limit: 3 })).toEqual(ids);
    expect(proxy.mode.kind, "the cut occurred").toBe("pass");
    proxy.set({ kind: "down" });
    await rejection(stores.listThreads({ prefix }), "UNAVAILABLE");
  });

  test("a listing by a closed factory rejects with CLOSED", async (backend) => {
    const stores = await backend.ownStores();
    await stores.close();
    await rejection(stores.listThreads(), "CLOSED");
    await rejection(stores.iterateThreads()[Symbol.asyncIterator]().next(), "CLOSED");
  });
};
