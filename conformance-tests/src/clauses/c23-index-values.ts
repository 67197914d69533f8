import { setTimeout as sleep } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { secretText } from "../checks/deleted.ts";
import { allOf, content, ownIndex } from "../checks/entries.ts";
import { rejection } from "../checks/errors.ts";
import { AFTER_MS } from "../checks/times.ts";
import type { Clause } from "../clause.ts";
import { encrypting } from "../messages/codecs.ts";

const at = (key: string, id = "1") => ({ key, id });

/** Tests of what entries contain, how long they stay, and what is left of them. */
export const indexValues: Clause["declare"] = (test) => {
  test("values are read as they were written, up to 32 KiB, and larger ones are refused", async (backend) => {
    const index = ownIndex(backend);
    const values = [
      null,
      0,
      "",
      "a\0b\u{1F600}\uFFFF",
      { title: "T", labels: { __proto__: null, "a.b": "$x" }, at: new Date(0), big: 2n ** 70n },
      [1, [2, { three: [] }]],
      "x".repeat(32_000),
    ];
    for (const [order, value] of values.entries())
      await index.insert(at(`${order}`), content({ order, value }));
    expect((await allOf(index, { limit: 2 })).map(({ value }) => value)).toEqual(values);
    expect((await index.entriesOf("4"))[0]?.value).toEqual(values[4]);
    const large = content({ version: 1, value: "x".repeat(33_000) });
    await rejection(index.insert(at("large"), large), "TOO_LARGE");
    await rejection(index.update(at("0"), large), "TOO_LARGE");
    expect(await allOf(index)).toHaveLength(values.length);
  });

  test(
    "an expired entry is given by no verb, and its place is free",
    async (backend) => {
      const index = ownIndex(backend);
      const others = backend.otherStores().index(index.name);
      const now = Date.now();
      await index.insert(at("gone"), content({ expiresAt: now - 1, order: 1 }));
      await index.insert(at("stays"), content({ expiresAt: now + 3_600_000, order: 2 }));
      await index.insert(at("soon"), content({ expiresAt: now + 600, order: 3 }));
      await index.insert(at("renewed"), content({ expiresAt: now + 3_600_000, order: 4 }));
      await index.update(at("renewed"), content({ version: 1, order: 4 }));
      await sleep(600 + AFTER_MS);
      for (const reader of [index, others]) {
        expect((await allOf(reader, { limit: 1 })).map(({ key }) => key)).toEqual(["stays", "renewed"]);
        expect((await allOf(reader, { direction: "down" })).map(({ key }) => key)).toEqual([
          "renewed",
          "stays",
        ]);
        expect(await reader.entriesOf("gone")).toEqual([]);
        expect(await reader.update(at("soon"), content({ version: 9 }))).toBeNull();
        expect(await reader.remove(at("gone"))).toBe(false);
      }
      expect(await index.insert(at("soon"), content({ value: "again" }))).toBe(true);
      expect(await index.entriesOf("soon")).toMatchObject([{ value: "again", version: 0 }]);
      expect((await index.entriesOf("stays"))[0]?.expiresAt).toBe(now + 3_600_000);
      expect((await index.entriesOf("renewed"))[0]).not.toHaveProperty("expiresAt");
    },
    { concurrent: true },
  );

  test("an index of which all entries have expired is not listed", async (backend) => {
    const index = ownIndex(backend);
    await index.insert(at("a"), content({ expiresAt: Date.now() - 1 }));
    expect((await backend.stores().listIndexes({ prefix: index.name })).names).toEqual([]);
  });

  test("what is replaced or removed is gone at rest once the call returns", async (backend) => {
    const index = ownIndex(backend);
    const dump = () => backend.dumpIndex(index.name);
    const [one, two] = [secretText(), secretText()];
    await index.insert(at("a"), content({ value: one }));
    expect(await dump()).toContain(one);
    await index.update(at("a"), content({ version: 1, order: 5, value: two }));
    expect(await dump()).toContain(two);
    expect(await dump()).not.toContain(one);
    await index.remove(at("a"));
    expect(await dump()).not.toContain(two);
  });

  test("with an encrypting codec nothing of a value is readable at rest, and a value is bound to its place", async (backend) => {
    const { name } = ownIndex(backend);
    const codec = encrypting();
    const stores = createStores(backend.driver, { codec });
    const secret = secretText();
    const index = stores.index(name);
    await index.insert(at("a"), content({ value: { title: secret, labels: { secret } } }));
    expect(await backend.dumpIndex(name)).not.toContain(secret.slice(7));
    expect(await allOf(index)).toMatchObject([{ value: { title: secret } }]);
    const { index: verbs } = backend.driver;
    const [stored] = (await verbs?.entriesOf({ index: name, key: "a", signal: undefined })) ?? [];
    if (!stored || !verbs) throw new Error("no entry");
    for (const moved of [{ key: "b" }, { id: "2" }, { index: `${name} other` }]) {
      await verbs.insertEntry({ index: name, ...stored, ...moved, signal: undefined });
      const { index: place = name, key = "a", id = "1" } = moved as Record<string, string>;
      const entries = await stores.index(place).entriesOf(key);
      expect(entries.find((entry) => entry.id === id)).toMatchObject({ problem: { code: "CORRUPT" } });
    }
  });

  test("an entry with an unreadable value is listed, replaced and removed like others", async (backend) => {
    const index = ownIndex(backend);
    const verbs = backend.driver.index;
    for (const [order, value] of ["{", "not a value", '~{"json":'].entries()) {
      const put = { index: index.name, ...at(`${order}`), version: 0, order, value, signal: undefined };
      await verbs?.insertEntry(put);
    }
    await index.insert(at("3"), content({ order: 3, value: "whole" }));
    const corrupt = { value: undefined, problem: { code: "CORRUPT" } };
    expect(await allOf(index)).toMatchObject([corrupt, corrupt, corrupt, { value: "whole" }]);
    expect(await index.entriesOf("1")).toMatchObject([corrupt]);
    expect(await index.update(at("0"), content({ version: 1, value: "mended" }))).toBe(0);
    expect(await index.remove(at("1"))).toBe(true);
    expect((await allOf(index)).map(({ value }) => value)).toEqual(["mended", undefined, "whole"]);
  });
};
