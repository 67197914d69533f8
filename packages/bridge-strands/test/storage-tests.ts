import type { StoreFactory } from "@scrollback/store-core";
import { Agent, SessionManager } from "@strands-agents/sdk";
import type { Storage } from "@strands-agents/sdk/storage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { ScrollbackStorage } from "../src/index.ts";
import { EchoModel } from "./echo-model.ts";
import { framework } from "./framework.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (found: Uint8Array | null) => found && new TextDecoder().decode(found);

/** Declares the tests for every backend. It calls `open` twice, for two connections, as in two processes. */
export function declareStorageTests(backend: string, open: () => Promise<StoreFactory>): void {
  describe(`storage on ${backend}`, countedTests(framework, backend), () => {
    let factories: StoreFactory[] = [];
    let storage: ScrollbackStorage;
    let other: ScrollbackStorage;
    beforeAll(async () => {
      const stores = await open();
      await stores.setup();
      factories = [stores, await open()];
      [storage, other] = factories.map((one) => new ScrollbackStorage({ stores: one })) as [
        ScrollbackStorage,
        ScrollbackStorage,
      ];
    });
    afterAll(async () => {
      await storage?.flush();
      await other?.flush();
      for (const stores of factories) await stores.close();
    });

    test("every key returns the bytes that any process wrote last", async () => {
      const root = crypto.randomUUID();
      const keys = ["a", "a/b", "a:b", "a/b/c", "a//b", "ä", " "].map((key) => `${root}/${key}`);
      for (const key of keys) {
        expect(await other.read(key)).toBeNull();
        await storage.write(key, bytes(key));
      }
      for (const key of keys) expect(textOf(await other.read(key))).toBe(key);
      const all = new Uint8Array(256).map((_, index) => index);
      await other.write(keys[0] ?? "", all);
      await storage.write(keys[1] ?? "", new Uint8Array());
      expect(await storage.read(keys[0] ?? "")).toEqual(all);
      expect(await other.read(keys[1] ?? "")).toEqual(new Uint8Array());
      // Each storage overwrites the other's writes.
      for (const one of [storage, other, storage]) await one.write(keys[0] ?? "", bytes("again"));
      expect(textOf(await other.read(keys[0] ?? ""))).toBe("again");
    });

    test("lists have the full keys of a prefix, sorted, also during writes", async () => {
      const root = crypto.randomUUID();
      const names = ["x", "s/2/b", "s/2/a/deep", "s/10/a", "s/2/B", "t/1/a"].map((name) => `${root}/${name}`);
      await Promise.all(names.map((key, index) => (index % 2 ? storage : other).write(key, bytes("x"))));
      const expected = (prefix: string) => names.filter((key) => key.startsWith(prefix)).sort();
      for (const flush of [false, true]) {
        if (flush) await Promise.all([storage.flush(), other.flush()]);
        for (const prefix of [root, `${root}/`, `${root}/s`, `${root}/s/`, `${root}/s/2/`, `${root}/s/2/a`])
          expect(await other.list(prefix)).toEqual(expected(prefix));
      }
      expect(await other.list(`${root}/none/`)).toEqual([]);
      expect(await storage.list("")).toEqual(expect.arrayContaining(names));
    });

    test("a key deleted by another process is missing, and can be created again", async () => {
      const root = crypto.randomUUID();
      const keys = [`${root}/s/1`, `${root}/s/2`];
      for (const key of keys) await storage.write(key, bytes("x"));
      for (const key of keys) await other.delete(key);
      await other.delete(`${root}/s/none`);
      expect(await storage.read(keys[0] ?? "")).toBeNull();
      expect(await storage.list(`${root}/`)).toEqual([]);
      await storage.write(keys[0] ?? "", bytes("again"));
      expect(textOf(await other.read(keys[0] ?? ""))).toBe("again");
      expect(await other.list(`${root}/`)).toEqual([keys[0]]);
    });

    test("an agent continues its session in another process", async () => {
      const sessionId = crypto.randomUUID();
      const turn = async (one: ScrollbackStorage) => {
        const scoped: Storage = one;
        const sessionManager = new SessionManager({ sessionId, storage: scoped });
        const agent = new Agent({ model: new EchoModel(), sessionManager, printer: false });
        return (await agent.invoke("Which tram?")).toString();
      };
      expect(await turn(storage)).toContain("1 messages");
      expect(await turn(other)).toContain("3 messages");
      expect(await turn(storage)).toContain("5 messages");
    });
  });
}
