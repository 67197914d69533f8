import type { StoreOptions } from "@scrollback/store-core";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import { content } from "../checks/entries.ts";
import { rejection, thrown } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";
import { numbered, user } from "../messages/messages.ts";

/** What the message must name, and calls with each wrong value. */
type Wrong = readonly [name: string, calls: readonly (() => unknown)[]];

/** Each value in the place of one argument. */
const wrong = (name: string, values: readonly unknown[], call: (value: never) => unknown): Wrong => [
  name,
  values.map((value) => () => call(value as never)),
];

const notIds = [
  ...["", "x".repeat(1_025), "é".repeat(513), "💬".repeat(257), "\ud800", "a\udc00", 7, null, {}, []],
];
const notCounts = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null];
const notPositive = [0, ...notCounts];
const notTtls = [0, -1, 1.5, Number.MAX_SAFE_INTEGER, Number.NaN, Number.POSITIVE_INFINITY, "5"];
const notTimes = [...notCounts, 10_000_000_000_000, new Date()];
const notSignals = ["stop", 1];
const notCursors = [
  ...["", "garbage", "1", "0", "-1", "null", 42, {}],
  Buffer.from("2:a:1").toString("base64url"),
];
const notMessages = [
  ...[null, undefined, "text", 7, [], {}, { role: "user" }, { content: "a" }],
  { role: "robot", content: "a" },
  { role: "user", content: 7 },
  { role: "user", content: [{}] },
  { role: "user", content: [{ type: "text" }] },
  { role: "tool", content: [{ type: "tool-result", toolName: "t", output: 1 }] },
];

/** Calls that throw: they make a store, or settings. */
function wrongMakers(backend: Backend): Wrong[] {
  const stores = backend.stores();
  const settings = (make: (options: StoreOptions) => unknown) => [
    wrong("maxMessages", notPositive, (maxMessages) => make({ maxMessages })),
    wrong("trimming", ["", "turn", "TURNS", 1, null], (trimming) => make({ trimming })),
    wrong("ttlMs", [...notTtls, null], (ttlMs) => make({ ttlMs })),
    wrong("codec", [{}], (codec) => make({ codec })),
  ];
  return [
    ...settings((options) => backend.stores(options)),
    ...settings((options) => stores.open("a", options)),
    wrong("maxMessage", [5], (maxMessage) => backend.stores({ maxMessage } as object)),
    wrong("traits", [{ role: 1 }], (traits) => backend.stores({ traits })),
    wrong("onCorruptRecord", ["skip"], (onCorruptRecord) => backend.stores({ onCorruptRecord })),
    wrong("options", [5], (options) => stores.open("a", options)),
    wrong("threadId", notIds, (id) => stores.open(id)),
    ...(backend.driver.index ? [wrong("", notIds, (name) => stores.index(name))] : []),
  ];
}

/** Calls that reject. `newer` is a cursor of the store. */
function wrongCalls(backend: Backend, threadId: string, newer: string): Wrong[] {
  const stores = backend.stores();
  const store = stores.open(threadId);
  const write = (options: object) => store.addMessages([user("a")], options);
  const list = (options: object) => stores.listThreads(options);
  const copy = (options: object) => stores.copyThread("from", "to", options);
  const next = (options: object) => stores.iterateThreads(options)[Symbol.asyncIterator]().next();
  const anyId = [...notIds, undefined];
  return [
    wrong("operation", ["typo"], (operation) => write({ operation })),
    wrong("operationId", notIds, (operationId) => write({ operationId })),
    wrong("expectedRevision", ["", 7, {}], (expectedRevision) => write({ expectedRevision })),
    wrong("createdAt", notTimes, (createdAt) => write({ createdAt })),
    wrong("signal", notSignals, (signal) => write({ signal })),
    wrong("options", [[]], write),
    wrong("messages[1]", notMessages, (message) => store.addMessages([user("a"), message])),
    wrong("messages", [null, undefined, "text", {}, user("no list")], (messages) =>
      store.addMessages(messages),
    ),
    wrong("limit", [...notCounts, {}], (limit) => store.listMessages({ limit })),
    wrong("offset", [1], (offset) => store.listMessages({ offset } as object)),
    wrong("before", [newer], (before) => store.listMessages({ before } as object)),
    wrong("limit", [...notCounts, {}], (limit) => store.read({ limit })),
    wrong("read: before must be", notCursors, (before) => store.read({ before })),
    wrong("read: after must be", notCursors, (after) => store.read({ after })),
    wrong("", [newer], (cursor) => store.read({ before: cursor, after: cursor })),
    wrong("cursor", ["x"], (cursor) => store.read({ cursor } as object)),
    wrong("drop", [...notCounts, "some"], (drop) => store.commit({ drop })),
    wrong("append", ["text"], (append) => store.commit({ append })),
    wrong("remove", [1], (remove) => store.commit({ remove } as object)),
    wrong("change", [null], (change) => store.commit(change)),
    wrong("metadata", [() => {}], (metadata) => store.commit({ metadata })),
    wrong("reason", ["x"], (reason) => store.popMessage({ reason } as object)),
    wrong("ttlMs", [...notTtls, undefined], (ttlMs) => store.expire(ttlMs)),
    wrong("operationId", ["a"], (operationId) => store.expire(null, { operationId } as object)),
    wrong("limit", [...notPositive, 1_001], (limit) => list({ limit })),
    wrong("prefix", [5, null, "\ud800", ["a"]], (prefix) => list({ prefix })),
    wrong("cursor", [5, null, "", {}], (cursor) => list({ cursor })),
    wrong("signal", notSignals, (signal) => list({ signal })),
    wrong("unknown", [1], (unknown) => list({ unknown })),
    wrong("options", [[]], list),
    wrong("limit", [0], (limit) => next({ limit })),
    wrong("cursor", ["a"], (cursor) => next({ cursor })),
    wrong("", anyId, (id) => stores.deleteThread(id)),
    wrong("expectedRevision", ["", 7], (revision) =>
      stores.deleteThread("a", { expectedRevision: revision }),
    ),
    wrong("signal", notSignals, (signal) => stores.deleteThread("a", { signal })),
    wrong("unknown", [1], (unknown) => stores.deleteThread("a", { unknown } as object)),
    wrong("options", [[]], (options) => stores.deleteThread("a", options)),
    wrong("from", anyId, (id) => stores.copyThread(id, "to")),
    wrong("to", [...anyId, "from"], (id) => stores.copyThread("from", id)),
    wrong("upTo", [7, "", "no cursor"], (upTo) => copy({ upTo })),
    wrong("target", [{}, null, { open: () => {}, copyThread: () => {} }], (target) => copy({ target })),
    wrong("onProgress", [1], (onProgress) => copy({ onProgress })),
    wrong("signal", notSignals, (signal) => copy({ signal })),
    wrong("unknown", [1], (unknown) => copy({ unknown })),
    ...(backend.driver.index ? wrongEntries(backend) : []),
  ];
}

function wrongEntries(backend: Backend): Wrong[] {
  const stores = backend.stores();
  const index = stores.index("a");
  const place = { key: "a", id: "1" };
  const put = (fields: object) => index.insert(place, { ...content(), ...fields });
  const { vectors } = backend.driver.capabilities.index ?? {};
  const notVectors = [
    ...[[0, 0], [], [1, Number.NaN], [1, Number.POSITIVE_INFINITY], [1.7e308, 1.7e308], "1"],
    Array((vectors?.maxDimensions ?? 0) + 1).fill(1),
  ];
  return [
    wrong("", notIds, (key) => index.insert({ key, id: "1" }, content())),
    wrong("", notIds, (id) => index.insert({ key: "a", id }, content())),
    wrong("", [undefined], (none) => index.insert(none, content())),
    wrong("", [{ key: "a" }], (half) => index.remove(half)),
    wrong("version", notCounts, (version) => put({ version })),
    wrong("order", [Number.NaN, Number.POSITIVE_INFINITY, "1"], (order) => put({ order })),
    wrong("order", [Number.NaN], (order) => index.update(place, content({ order }))),
    wrong("expiresAt", notTimes, (expiresAt) => put({ expiresAt })),
    wrong("value", [() => {}], (value) => put({ value })),
    wrong("extra", [1], (extra) => put({ extra })),
    wrong("limit", [0, 101], (limit) => index.list({ limit })),
    wrong("direction", ["left"], (direction) => index.list({ direction })),
    wrong("cursor", ["x"], (cursor) => index.list({ cursor })),
    wrong("limit", [1_001], (limit) => stores.listIndexes({ limit })),
    ...(vectors
      ? [
          wrong("", notVectors, (vector) => index.nearest(vector)),
          wrong("", [...notVectors.map((one) => [one]), [[1], [1, 2]], [1]], (all) => put({ vectors: all })),
          wrong("", notVectors, (vector) => index.update(place, content({ version: 1, vectors: [vector] }))),
          wrong("nearest: limit must be", [0, 101], (limit) => index.nearest([1, 0], { limit })),
          wrong("nearest: offset must be", [-1], (offset) => index.nearest([1, 0], { offset })),
          wrong("nearest: after must be", ["x"], (after) => index.nearest([1, 0], { after })),
          wrong("nearest: before must be", ["x"], (before) => index.nearest([1, 0], { before })),
        ]
      : []),
  ];
}

/** Tests of the arguments of every call. */
export const invalidArguments: Clause["declare"] = (test) => {
  test("every invalid argument is refused with INVALID_ARGUMENT before any I/O, and named", async (backend) => {
    const store = backend.store();
    await store.addMessages(numbered(2));
    const before = await store.read();
    await backend.withoutRequests(async () => {
      for (const [name, calls] of wrongMakers(backend))
        for (const call of calls) expect(thrown(call, "INVALID_ARGUMENT").message).toContain(name);
      for (const [name, calls] of wrongCalls(backend, store.threadId, before.newer ?? "")) {
        for (const call of calls) {
          const error = await rejection(call() as Promise<unknown>, "INVALID_ARGUMENT").catch((cause) => {
            throw new Error(`${call} with a wrong "${name}"`, { cause });
          });
          expect(error.message).toContain(name);
        }
      }
    });
    expect(await store.read()).toStrictEqual(before);
  });
};
