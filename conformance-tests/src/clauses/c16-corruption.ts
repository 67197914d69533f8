import { type Codec, gzipCodec, jsonCodec, type StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { formatRecord } from "@scrollback/store-core/internal";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import { rejection } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";
import { encrypting } from "../messages/codecs.ts";
import { numbered, textsIn, textsOf, user } from "../messages/messages.ts";

const corruptRecords: Readonly<Record<string, string>> = {
  garbage: "garbage",
  "a record cut short": '1u0000000001000{"role":"user","conte',
  "only the version and the kind": "1u",
  "no time": '1u{"role":"user","content":"a"}',
  "a time cut short": "1u000000000100",
  "an unknown kind": '1z0000000001000{"role":"user","content":"a"}',
  "metadata in a message's place": '1m{"role":"user","content":"a"}',
  "a version before the first": '0u0000000001000{"role":"user","content":"a"}',
  "JSON without a version": '{"role":"user","content":"a"}',
  "what superjson cannot read": '1u0000000001000~{"json":',
  "numbers that claim to be a billion":
    '1u0000000001000~{"json":1e9,"meta":{"values":[["typed-array","Float64Array"]],"v":1}}',
  "bytes that claim to be a billion":
    '1u0000000001000~{"json":["Uint8Array",{"length":1e9}],"meta":{"values":[["custom","bytes"]],"v":1}}',
  "bytes of a kind that is none":
    '1u0000000001000~{"json":["Odd","AA=="],"meta":{"values":[["custom","bytes"]],"v":1}}',
};

/** A thread of five messages, with `record` in the place of the third. */
async function corruptThread(backend: Backend, record: string) {
  const store = backend.store();
  await store.addMessages(numbered(5));
  const sequences = (await store.read()).entries.map(({ sequence }) => sequence);
  const sequence = sequences[2] ?? 0;
  await backend.harness.raw.plant(store.threadId, sequence, record);
  return { store, sequence };
}

/** A thread's newest record, as the driver returns it. */
async function newestRecord(backend: Backend, threadId: string) {
  const range = { limit: 1, before: undefined, after: undefined, metadata: false, signal: undefined };
  const [newest] = (await backend.driver.read({ ...range, threadId })).entries;
  if (!newest) throw new Error(`${threadId} is empty`);
  return newest;
}

export const corruption: Clause = {
  title: "Corruption",
  declare(test) {
    test("reading a damaged record fails with CORRUPT and its sequence number", async (backend) => {
      for (const [what, record] of Object.entries(corruptRecords)) {
        const { store, sequence } = await corruptThread(backend, record);
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

    test("reading a record of a newer format version fails with CORRUPT, and the message says what to do", async (backend) => {
      const { store, sequence } = await corruptThread(
        backend,
        '2u{"role":"user","content":"from the future"}',
      );
      const error = await rejection(store.listMessages(), "CORRUPT");
      expect(error.sequence).toBe(sequence);
      expect(error.message).toMatch(/version 2.*upgrade/);
      expect(error.message).not.toContain("from the future");
    });

    test("records around a damaged one can be read", async (backend) => {
      const { store } = await corruptThread(backend, "garbage");
      expect(await textsIn(store, 2)).toEqual(["message 4", "message 5"]);
      const newest = await store.read({ limit: 2 });
      await rejection(store.read({ limit: 1, before: newest.older ?? "" }), "CORRUPT");
    });

    test("with onCorruptRecord a damaged record is reported and skipped, and all others are read", async (backend) => {
      for (const record of [...Object.values(corruptRecords), "2u{}"]) {
        const { store, sequence } = await corruptThread(backend, record);
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
      const { store } = await corruptThread(backend, "garbage");
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
      const { store } = await corruptThread(backend, "garbage");
      await store.addMessages([user("more")]);
      await rejection(store.listMessages(), "CORRUPT");
      await backend.stores({ maxMessages: 3 }).open(store.threadId).commit({ metadata: 1 });
      expect(await textsIn(store)).toEqual(["message 4", "message 5", "more"]);
      const other = await corruptThread(backend, "2x");
      await other.store.clear();
      await other.store.addMessages([user("new")]);
      expect(await textsIn(other.store)).toEqual(["new"]);
    });

    test("popMessage never removes a message that it cannot read", async (backend) => {
      const { store, sequence } = await corruptThread(backend, "garbage");
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
        expect(error.sequence).toBe((await newestRecord(backend, store.threadId)).sequence);
        expect(error.message).not.toContain("message message");
      }
    });

    test("reading an encrypted record that was moved to another thread or whose kind was changed fails with CORRUPT", async (backend) => {
      const codec = encrypting();
      const [one, other] = [backend.store({ codec }), backend.store({ codec })];
      for (const store of [one, other]) await store.addMessages(numbered(2));
      const newest = await newestRecord(backend, one.threadId);
      for (const [threadId, record] of [
        [other.threadId, newest.record],
        [one.threadId, newest.record.replace("u", "s")],
      ] as const) {
        await backend.harness.raw.plant(threadId, newest.sequence, record);
        const error = await rejection(backend.stores({ codec }).open(threadId).listMessages(), "CORRUPT");
        expect(error.sequence).toBe(newest.sequence);
      }
    });

    test("records carry a format version", async (backend) => {
      const store = backend.store();
      const message = user(crypto.randomUUID());
      await store.addMessages([message]);
      const record = formatRecord("u", 0, jsonCodec.encode(message));
      expect(record).toMatch(/^1u/);
      // Planting the record that exists changes nothing: the backend stores records.
      await backend.harness.raw.plant(store.threadId, (await store.read()).entries[0]?.sequence ?? 0, record);
      expect(await store.listMessages()).toStrictEqual([message]);
    });
  },
};
