import { randomUUID } from "node:crypto";
import type { IndexEntry } from "@scrollback/store-core";
import { SortKey } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect } from "vitest";
import { allOf, content, ownIndex } from "../checks/entries.ts";
import { rejection } from "../checks/errors.ts";
import { checkProperty } from "../checks/property.ts";
import type { Clause } from "../clause.ts";
import { numbered } from "../messages/messages.ts";
import { indexFaults } from "./c23-index-faults.ts";
import { indexValues } from "./c23-index-values.ts";
import { indexVectors } from "./c23-index-vectors.ts";

const keysOf = (entries: readonly IndexEntry[]) => entries.map(({ key }) => key);
const byBytes = (entries: readonly { order: number; key: string; id: string }[]) =>
  [...entries].sort((one, other) =>
    Buffer.compare(Buffer.from(SortKey.of(one)), Buffer.from(SortKey.of(other))),
  );
const at = (key: string, id = "1") => ({ key, id });

export const index: Clause = {
  title: "Index",
  // In the deep plan 10,000 entries are inserted, each by a request.
  timeoutMs: 180_000,
  declare(test) {
    test("insert: only if there is none of the key and id, and tells whether", async (backend) => {
      const index = ownIndex(backend);
      expect(await index.insert(at("a"), content({ value: "first" }))).toBe(true);
      expect(await index.insert(at("a"), content({ version: 9, order: 9, value: "second" }))).toBe(false);
      expect(await index.insert(at("a", "2"), content({ value: "other id" }))).toBe(true);
      expect(await index.insert(at("b"), content({ value: "other key" }))).toBe(true);
      expect((await allOf(index)).map(({ value }) => value)).toEqual(["first", "other id", "other key"]);
    });

    test("update: replaces a lower version, tells what it found, and never creates an entry", async (backend) => {
      const index = ownIndex(backend);
      expect(await index.update(at("a"), content({ version: 5 }))).toBeNull();
      expect(await allOf(index)).toEqual([]);
      await index.insert(at("a"), content({ version: 2, order: 2, value: "2" }));
      expect(await index.update(at("a"), content({ version: 4, order: -4, value: "4" }))).toBe(2);
      for (const version of [0, 3, 4])
        expect(await index.update(at("a"), content({ version, order: 7, value: "late" }))).toBe(4);
      expect(await index.update(at("a", "2"), content({ version: 9 }))).toBeNull();
      expect(await allOf(index)).toEqual([{ ...at("a"), version: 4, order: -4, value: "4" }]);
      expect(await index.update(at("a"), content({ version: Number.MAX_SAFE_INTEGER }))).toBe(4);
      expect(await index.update(at("a"), content({ version: Number.MAX_SAFE_INTEGER }))).toBe(
        Number.MAX_SAFE_INTEGER,
      );
    });

    test("updates that arrive in any order leave the newest version", async (backend) => {
      const index = ownIndex(backend);
      await index.insert(at("a"), content());
      const versions = Array.from({ length: 24 }, (_, number) => ((number * 7) % 24) + 1);
      const others = backend.otherStores().index(index.name);
      await Promise.all(
        versions.map((version) =>
          (version % 2 ? index : others).update(
            at("a"),
            content({ version, order: version, value: version }),
          ),
        ),
      );
      expect(await allOf(index)).toEqual([{ ...at("a"), version: 24, order: 24, value: 24 }]);
    });

    test("remove: tells whether there was one; a late update of what was removed does nothing", async (backend) => {
      const index = ownIndex(backend);
      expect(await index.remove(at("a"))).toBe(false);
      await index.insert(at("a"), content());
      await index.insert(at("a", "2"), content());
      expect(await index.remove(at("a"))).toBe(true);
      expect(await index.remove(at("a"))).toBe(false);
      expect(await index.update(at("a"), content({ version: 9 }))).toBeNull();
      expect(await allOf(index)).toMatchObject([at("a", "2")]);
      // Made again under another id, it does not meet what was meant for the first one.
      await index.insert(at("a", "3"), content({ version: 1 }));
      expect(await index.update(at("a", "1"), content({ version: 9 }))).toBeNull();
      expect(await index.entriesOf("a")).toMatchObject([at("a", "2"), { ...at("a", "3"), version: 1 }]);
    });

    test("entriesOf: all ids of a key, by their bytes, and of no other key", async (backend) => {
      const index = ownIndex(backend);
      const ids = ["b", "a", "\u{1F600}", "\uFFFD", "a\0", "\0"];
      for (const [order, id] of ids.entries()) await index.insert(at("k", id), content({ order: -order }));
      for (const other of ["k\0", "k ", "K", "kk", "\0k"]) await index.insert(at(other), content());
      const sorted = [...ids].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      expect((await index.entriesOf("k")).map(({ id }) => id)).toEqual(sorted);
      expect(await index.entriesOf("absent")).toEqual([]);
    });

    test("list: by order, then by the bytes of key and id; down is exactly up reversed", async (backend) => {
      backend.requireIndex();
      const text = fc.oneof(
        fc.constantFrom(
          "a",
          "b",
          "aa",
          "a\0",
          "a\0b",
          "\0",
          "a\x01",
          "a\x02",
          "\x01",
          "\x02\x01",
          "\x03",
          "\uFFFD",
          "\u{1F600}",
          "é",
          "e\u0301",
          "A",
          " ",
        ),
        fc.string({ unit: "binary", minLength: 1, maxLength: 4 }).filter((one) => one.isWellFormed()),
      );
      const order = fc.oneof(
        fc.constantFrom(0, 1, -1, 1.5, -1.5, 2 ** 53, -(2 ** 53), Number.MAX_VALUE, -Number.MAX_VALUE),
        fc.constantFrom(Number.MIN_VALUE, -Number.MIN_VALUE, -0, 1_795_348_800_000),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
      );
      const entries = fc.uniqueArray(fc.record({ key: text, id: text, order }), {
        ...{ minLength: 1, maxLength: 12, selector: ({ key, id }) => JSON.stringify([key, id]) },
      });
      const property = fc.asyncProperty(entries, fc.integer({ min: 1, max: 5 }), async (given, limit) => {
        const index = ownIndex(backend);
        await Promise.all(given.map(({ key, id, order }) => index.insert(at(key, id), content({ order }))));
        const sorted = byBytes(given.map((entry) => ({ ...entry, order: entry.order + 0 })));
        const up = await allOf(index, { limit });
        expect(up.map(({ key, id, order }) => ({ key, id, order }))).toEqual(sorted);
        expect(await allOf(index, { limit, direction: "down" })).toEqual(up.toReversed());
      });
      await checkProperty(property, 12);
    });

    test("an entry that does not change while one pages comes once, whatever others write", async (backend) => {
      const index = ownIndex(backend);
      const others = backend.otherStores().index(index.name);
      const key = (number: number) => `key ${String(number).padStart(3, "0")}`;
      const numbers = Array.from({ length: 40 }, (_, number) => number);
      await Promise.all(numbers.map((order) => index.insert(at(key(order)), content({ order }))));
      const isStable = (one: string) => Number(one.slice(4)) % 4 === 0;
      const afterPage = async (page: number) => {
        const [one = 1, two = 2, three = 3] = [page, 20 + page, 39 - page].filter((n) => n % 4 !== 0);
        await others.remove(at(key(one)));
        await others.update(at(key(two)), content({ version: page, order: page % 2 ? -page : 100 + page }));
        await index.update(at(key(three)), content({ version: page, order: 19.5 }));
        // Not as often as one is removed: pages by position would not notice.
        if (page % 3 === 0) await others.insert(at(`new ${page}`), content({ order: page * 3 - 0.5 }));
      };
      for (const direction of ["up", "down"] as const) {
        const listed = keysOf(await allOf(index, { direction, limit: 3, afterPage }));
        const stable = numbers.map(key).filter(isStable);
        expect(listed.filter((one) => one.startsWith("key") && isStable(one))).toEqual(
          direction === "up" ? stable : stable.toReversed(),
        );
      }
    });

    test("every write is seen by every client once it has returned", async (backend) => {
      const index = ownIndex(backend);
      const others = backend.otherStores().index(index.name);
      for (let round = 1; round <= 8; round++) {
        const [writer, reader] = round % 2 ? [index, others] : [others, index];
        await writer.insert(at(`${round}`), content({ order: round }));
        expect(keysOf((await reader.list({ direction: "down", limit: 1 })).entries)).toEqual([`${round}`]);
        await writer.update(at(`${round}`), content({ version: 1, order: -round }));
        expect(keysOf((await reader.list({ limit: 1 })).entries)).toEqual([`${round}`]);
        expect(await reader.entriesOf(`${round}`)).toMatchObject([{ version: 1 }]);
      }
      await index.remove(at("8"));
      expect(keysOf((await others.list({ limit: 1 })).entries)).toEqual(["7"]);
    });

    test("one of many concurrent inserts of a place succeeds", async (backend) => {
      const index = ownIndex(backend);
      const clients = [
        index,
        backend.otherStores().index(index.name),
        backend.otherStores().index(index.name),
      ];
      for (let round = 0; round < 4; round++) {
        const inserts = Array.from({ length: 12 }, (_, number) =>
          clients[number % 3]?.insert(at(`${round}`), content({ value: number })),
        );
        const won = (await Promise.all(inserts)).flatMap((isInserted, number) => (isInserted ? number : []));
        expect(won).toHaveLength(1);
        expect((await index.entriesOf(`${round}`)).map(({ value }) => value)).toEqual(won);
      }
    });

    test("indexes, keys and ids are separate, whatever their names, also of 1,024 bytes", async (backend) => {
      backend.requireIndex();
      const stores = backend.stores();
      const unique = randomUUID();
      const long = "x".repeat(1_024 - unique.length - 1);
      const odd = [
        ...["a", "A", "a ", "a.", "a:b", "a{b}", "$a", "__proto__", "a/b", "a\0b", "\0", "é", "e\u0301"],
        "%61",
      ];
      const names = [...odd, `${long}y`, `${long}z`].map((name) => `${unique}${name}`);
      const keys = [...odd, `${"k".repeat(1_023)}1`, `${"k".repeat(1_023)}2`];
      for (const name of names) {
        const index = stores.index(name);
        const [key = "", id = ""] = [keys[names.indexOf(name)], keys.at(-1 - names.indexOf(name))];
        expect(await index.insert(at(key, id), content({ value: name })), name).toBe(true);
      }
      for (const name of names) {
        const [key = "", id = ""] = [keys[names.indexOf(name)], keys.at(-1 - names.indexOf(name))];
        expect(await allOf(stores.index(name)), name).toMatchObject([{ key, id, value: name }]);
      }
      const [one = "", two = ""] = [keys.at(-1), keys.at(-2)];
      const index = stores.index(names[0] ?? "");
      for (const key of [one, two]) for (const id of [one, two]) await index.insert(at(key, id), content());
      expect((await index.entriesOf(one)).map(({ id }) => id)).toEqual([two, one]);
      expect(await index.remove(at(one, two))).toBe(true);
      expect((await index.entriesOf(two)).map(({ id }) => id)).toEqual([two, one]);
    });

    test("an index and a thread of one name do not meet", async (backend) => {
      const index = ownIndex(backend);
      const stores = backend.stores();
      await index.insert(at("a"), content());
      const store = stores.open(index.name);
      expect((await store.read()).revision).toBeNull();
      await store.addMessages(numbered(2));
      await stores.deleteThread(index.name);
      expect(keysOf(await allOf(index))).toEqual(["a"]);
      expect((await stores.listThreads({ prefix: index.name })).threads).toEqual([]);
    });

    test("listIndexes: the names that have entries and begin with the prefix, in pages", async (backend) => {
      backend.requireIndex();
      const stores = backend.stores();
      const prefix = `${randomUUID()} *?[\\`;
      const names = Array.from({ length: 12 }, (_, number) => `${prefix}${"\0é"[number] ?? number}`);
      for (const name of names) await stores.index(name).insert(at("a"), content());
      await stores.index(`${prefix.slice(0, -1)}/`).insert(at("a"), content());
      await stores.index(names[3] ?? "").insert(at("b"), content());
      const listed = async (limit: number) => {
        const found: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await backend
            .otherStores()
            .listIndexes({ prefix, limit, ...(cursor !== undefined && { cursor }) });
          expect(page.names.length).toBeLessThanOrEqual(limit);
          found.push(...page.names);
          cursor = page.cursor;
        } while (cursor !== undefined);
        return [...new Set(found)].sort();
      };
      for (const limit of [1, 5, 1_000]) expect(await listed(limit)).toEqual([...names].sort());
      await stores.index(names[0] ?? "").remove(at("a"));
      await stores.index(names[3] ?? "").remove(at("a"));
      expect(await listed(100)).toEqual(names.slice(1).sort());
    });

    test("each call is one request", async (backend) => {
      const index = ownIndex(backend);
      backend.requireRequests();
      // The first calls may connect and prepare.
      await index.insert(at("a"), content());
      await index.list();
      await index.entriesOf("a");
      await backend.stores().listIndexes();
      const calls: Record<string, () => Promise<unknown>> = {
        insert: () => index.insert(at("b"), content()),
        "insert of what is there": () => index.insert(at("b"), content()),
        update: () => index.update(at("b"), content({ version: 1, order: 3, value: "x" })),
        "update of an old version": () => index.update(at("b"), content({ version: 1 })),
        "update of nothing": () => index.update(at("c"), content({ version: 1 })),
        entriesOf: () => index.entriesOf("b"),
        list: () => index.list({ direction: "down", limit: 30 }),
        remove: () => index.remove(at("b")),
        "remove of nothing": () => index.remove(at("b")),
      };
      for (const [name, call] of Object.entries(calls))
        expect(await backend.requestsOf(call), `requests of ${name}`).toBe(1);
    });

    test("a cursor of another listing is refused", async (backend) => {
      const index = ownIndex(backend);
      const stores = backend.stores();
      await Promise.all(["a", "b"].map((key) => index.insert(at(key), content())));
      const { cursor = "" } = await index.list({ limit: 1 });
      const turned = await rejection(index.list({ cursor, direction: "down" }), "INVALID_ARGUMENT");
      expect(turned.message).toContain("list: cursor must be");
      const foreign = await rejection(stores.listIndexes({ cursor: "not one" }), "INVALID_ARGUMENT");
      expect(foreign.message).toContain("listIndexes: cursor must be");
    });

    indexValues(test);
    indexVectors(test);
    indexFaults(test);
  },
};
