import { type Codec, jsonCodec, type StoreError } from "@scrollback/store-core";
import { gzipCodec } from "@scrollback/store-core/codecs";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import { rejection } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";
import type { PlantedMessage } from "../harness.ts";
import { encrypting } from "../messages/codecs.ts";
import { numbered, textsIn, textsOf, user } from "../messages/messages.ts";

const damages: Readonly<Record<string, Partial<PlantedMessage>>> = {
  garbage: { text: "garbage" },
  "a text cut short": { text: '{"role":"user","conte' },
  "no text": { text: "" },
  "an unknown kind": { kind: "z" },
  "metadata in a message's place": { kind: "m" },
  "a time before 1970": { createdAt: -1 },
  "a time of 14 digits": { createdAt: 10 ** 13 },
  "what superjson cannot read": { text: '~{"json":' },
  "numbers that claim to be a billion": {
    text: '~{"json":1e9,"meta":{"values":[["typed-array","Float64Array"]],"v":1}}',
  },
  "bytes that claim to be a billion": {
    text: '~{"json":["Uint8Array",{"length":1e9}],"meta":{"values":[["custom","bytes"]],"v":1}}',
  },
  "bytes of a kind that is none": {
    text: '~{"json":["Odd","AA=="],"meta":{"values":[["custom","bytes"]],"v":1}}',
  },
};

/** A thread of five messages, of which the third is damaged. */
async function corruptThread(backend: Backend, damage: Partial<PlantedMessage> = { text: "garbage" }) {
  const store = backend.store();
  await store.addMessages(numbered(3));
  const { sequence, ...third } = await newestEntry(backend, store.threadId);
  await store.addMessages([user("message 4"), user("message 5")]);
  await backend.harness.raw.plant(store.threadId, sequence, { ...third, ...damage });
  return { store, sequence };
}

/** A thread's newest message, as the driver returns it. */
async function newestEntry(backend: Backend, threadId: string) {
  const range = { limit: 1, before: undefined, after: undefined, metadata: false, signal: undefined };
  const [newest] = (await backend.driver.read({ ...range, threadId })).entries;
  if (!newest) throw new Error(`${threadId} is empty`);
  return newest;
}

export const corruption: Clause = {
  title: "Corruption",
  declare(test) {
    test("reading a damaged record fails with CORRUPT and its sequence number", async (backend) => {
      for (const [what, damage] of Object.entries(damages)) {
        const { store, sequence } = await corruptThread(backend, damage);
        for (const read of [
          () => store.listMessages(),
          () => store.listMessages({ limit: 3 }),
          () => store.read(),
          () => backend.otherStores().open(store.threadId).listMessages(),
        ]) {
          const error = await rejection(read(), "CORRUPT").catch((cause) => {
            throw new Error(`${what} was not found`, { cause });
          });
          expect(error.sequence, what).toBe(sequence);
          expect(error.retryable).toBe(false);
          expect(error.message).toContain(store.threadId);
        }
      }
    });

    test("records around a damaged one can be read", async (backend) => {
      const { store } = await corruptThread(backend);
      expect(await textsIn(store, 2)).toEqual(["message 4", "message 5"]);
      const newest = await store.read({ limit: 2 });
      await rejection(store.read({ limit: 1, before: newest.older ?? "" }), "CORRUPT");
    });

    test("with onCorruptRecord a damaged record is reported and skipped, and all others are read", async (backend) => {
      for (const damage of Object.values(damages)) {
        const { store, sequence } = await corruptThread(backend, damage);
        const reported: StoreError[] = [];
        const onCorruptRecord = (error: StoreError) => reported.push(error);
        const tolerant = backend.stores({ onCorruptRecord }).open(store.threadId);
        const rest = ["message 1", "message 2", "message 4", "message 5"];
        expect(await textsIn(tolerant)).toEqual(rest);
        expect(reported.map((error) => [error.code, error.sequence])).toEqual([["CORRUPT", sequence]]);
        const page = await tolerant.read();
        expect(textsOf(page.entries.map(({ message }) => message))).toEqual(rest);
        expect(reported).toHaveLength(2);
        expect(await textsIn(tolerant, 2)).toEqual(["message 4", "message 5"]);
        expect(reported).toHaveLength(2);
      }
    });

    test("paging continues past a damaged record", async (backend) => {
      const { store } = await corruptThread(backend);
      const tolerant = backend.stores({ onCorruptRecord: () => {} }).open(store.threadId);
      const seen: string[] = [];
      let page = await tolerant.read({ limit: 1 });
      for (let pages = 1; pages <= 5; pages++) {
        seen.unshift(...textsOf(page.entries.map(({ message }) => message)));
        if (page.older !== undefined) page = await tolerant.read({ limit: 1, before: page.older });
      }
      expect(page.older).toBeUndefined();
      expect(seen).toEqual(["message 1", "message 2", "message 4", "message 5"]);
    });

    test("onCorruptRecord is not called for intact records", async (backend) => {
      const reported: StoreError[] = [];
      const store = backend.store({ onCorruptRecord: (error) => reported.push(error) });
      await store.commit({ append: numbered(3), metadata: "title" });
      await store.read();
      expect(reported).toEqual([]);
    });

    test("writes continue past a damaged record, trimming removes it, and so does clear", async (backend) => {
      const { store } = await corruptThread(backend);
      await store.addMessages([user("more")]);
      await rejection(store.listMessages(), "CORRUPT");
      await backend.stores({ maxMessages: 3 }).open(store.threadId).commit({ metadata: 1 });
      expect(await textsIn(store)).toEqual(["message 4", "message 5", "more"]);
      const other = await corruptThread(backend);
      await other.store.clear();
      await other.store.addMessages([user("new")]);
      expect(await textsIn(other.store)).toEqual(["new"]);
    });

    test("popMessage never removes a message that it cannot read", async (backend) => {
      const { store, sequence } = await corruptThread(backend);
      await store.commit({ drop: 2 });
      const tolerant = backend.stores({ onCorruptRecord: () => {} }).open(store.threadId);
      for (const one of [store, tolerant]) {
        expect((await rejection(one.popMessage(), "CORRUPT")).sequence).toBe(sequence);
      }
      await store.commit({ drop: 1 });
      expect(await store.popMessage()).toStrictEqual(user("message 2"));
    });

    test("reading a record of another codec fails with CORRUPT", async (backend) => {
      const long = "message ".repeat(50);
      const other: Codec = { ...jsonCodec, encode: (value) => `<${jsonCodec.encode(value)}>` };
      for (const [codec, reader] of [
        [other, jsonCodec],
        [gzipCodec(), jsonCodec],
        [encrypting(), jsonCodec],
        [encrypting(), gzipCodec()],
        [jsonCodec, encrypting()],
        [encrypting(), encrypting()],
        [encrypting(), encrypting("another")],
      ] satisfies [Codec, Codec][]) {
        const store = createStores(backend.driver, { codec }).open();
        await store.addMessages([user(long)]);
        const error = await rejection(
          backend.stores({ codec: reader }).open(store.threadId).listMessages(),
          "CORRUPT",
        );
        expect(error.sequence).toBe((await newestEntry(backend, store.threadId)).sequence);
        expect(error.message).not.toContain("message message");
      }
    });

    test("reading an encrypted record that was moved to another thread or whose kind or time was changed fails with CORRUPT", async (backend) => {
      const codec = encrypting();
      const [one, other] = [backend.store({ codec }), backend.store({ codec })];
      for (const store of [one, other]) await store.addMessages(numbered(2));
      const newest = await newestEntry(backend, one.threadId);
      for (const [threadId, planted] of [
        [other.threadId, newest],
        [one.threadId, { ...newest, kind: "s" }],
        [one.threadId, { ...newest, createdAt: newest.createdAt + 1 }],
      ] as const) {
        await backend.harness.raw.plant(threadId, newest.sequence, planted);
        const error = await rejection(backend.stores({ codec }).open(threadId).listMessages(), "CORRUPT");
        expect(error.sequence).toBe(newest.sequence);
      }
    });

    test("a message is stored as its kind, its time and its text", async (backend) => {
      const store = backend.store();
      const message = user(crypto.randomUUID());
      await store.addMessages([message], { createdAt: 1_000 });
      const { sequence, ...stored } = await newestEntry(backend, store.threadId);
      expect(stored).toStrictEqual({ kind: "u", createdAt: 1_000, text: jsonCodec.encode(message) });
      await backend.harness.raw.plant(store.threadId, sequence, { ...stored, createdAt: 2_000 });
      const [entry] = (await store.read()).entries;
      expect(entry).toStrictEqual({ sequence, createdAt: 2_000, message });
    });
  },
};
