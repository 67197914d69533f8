import {
  type AgentInputItem,
  MemorySession,
  type SessionHistoryTransaction,
  UserError,
} from "@openai/agents-core";
import type { StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { ScrollbackSession } from "../src/index.ts";
import { framework } from "./framework.ts";
import { assistant, call, result, user } from "./items.ts";
import { tellStory } from "./story.ts";

/** Declares the tests for every backend. It calls `open` twice, for two connections, as in two processes. */
export function declareSessionTests(backend: string, open: () => Promise<StoreFactory>): void {
  describe(`sessions on ${backend}`, countedTests(framework, backend), () => {
    let stores: StoreFactory;
    let others: StoreFactory;
    beforeAll(async () => {
      stores = await open();
      await stores.setup();
      others = await open();
    });
    afterAll(async () => {
      await stores?.close();
      await others?.close();
    });
    const twoSessions = () => {
      const sessionId = crypto.randomUUID();
      return [
        new ScrollbackSession({ stores, sessionId }),
        new ScrollbackSession({ stores: others, sessionId }),
      ] as const;
    };

    test("a chat with approvals equals one with MemorySession, step by step, with new objects for each step", async () => {
      const memory = new MemorySession();
      const sessionId = crypto.randomUUID();
      let opened = 0;
      const story = await tellStory(
        () => new ScrollbackSession({ stores: opened++ % 2 ? stores : others, sessionId }),
      );
      expect(story).toEqual(await tellStory(() => memory));
    });

    test("items are read as they were added, the newest with a limit, and none of other sessions", async () => {
      const [session, other] = twoSessions();
      const items = [
        user("one"),
        assistant("two"),
        { ...call("c"), providerData: { bytes: new Uint8Array([0, 255]), nested: { none: null } } },
        result("c"),
      ];
      await session.addItems(items);
      await new ScrollbackSession({ stores }).addItems([user("another session")]);
      expect(await other.getItems()).toEqual(items);
      expect(await other.getItems(2)).toEqual(items.slice(2));
      expect(await other.getItems(0)).toEqual([]);
      expect(await other.getItems(-1)).toEqual([]);
      await other.addItems([]);
      expect(await session.popItem()).toEqual(items[3]);
      expect(await other.getItems(9)).toEqual(items.slice(0, 3));
      await session.clearSession();
      expect(await other.getItems()).toEqual([]);
      expect(await other.popItem()).toBeUndefined();
    });

    test("a session with a deleted thread starts empty, without the outcomes of its transactions", async () => {
      const [session, other] = twoSessions();
      const args = { operationId: "o", transaction: { type: "append_items" as const, items: [user("one")] } };
      await session.applyHistoryTransaction(args);
      await stores.deleteThread(session.threadId);
      expect(await other.getItems()).toEqual([]);
      await other.applyHistoryTransaction(args);
      expect(await session.getItems()).toEqual([user("one")]);
    });

    test("one of several racing transactions with one id takes effect, with other ids all do, and pops differ", async () => {
      const pair = twoSessions();
      const append = (operationId: string, text: string) => (_: unknown, index: number) =>
        pair[index % 2]?.applyHistoryTransaction({
          operationId,
          transaction: { type: "append_items", items: [user(text)] },
        });
      await Promise.all(Array.from({ length: 5 }, append("same", "once")));
      expect(await pair[0].getItems()).toEqual([user("once")]);
      await Promise.all(
        Array.from({ length: 8 }, (_, index) => append(`id ${index}`, `text ${index}`)(_, index)),
      );
      const items = await pair[1].getItems();
      expect(items).toHaveLength(9);
      expect(new Set(items.map((item) => JSON.stringify(item))).size).toBe(9);
      const popped = await Promise.all(Array.from({ length: 9 }, (_, index) => pair[index % 2]?.popItem()));
      expect(new Set(popped.map((item) => JSON.stringify(item))).size).toBe(9);
      expect(await pair[0].getItems()).toEqual([]);
    });

    test("a transaction is applied once in all processes, until the session is cleared", async () => {
      const [session, other] = twoSessions();
      await session.addItems([user("one"), call("c")]);
      const replace: SessionHistoryTransaction = {
        type: "replace_suffix",
        expectedSuffix: [call("c")],
        replacement: [assistant("two")],
      };
      await session.applyHistoryTransaction({ operationId: "o", transaction: replace });
      const replaced: AgentInputItem[] = [user("one"), assistant("two")];
      expect(await other.getItems()).toEqual(replaced);
      await other.applyHistoryTransaction({ operationId: "o", transaction: replace });
      await other.replaceHistoryWithCompaction([...replaced, user("three")]);
      const changed = { ...replace, replacement: [] };
      for (const args of [
        { operationId: "o", transaction: changed },
        { operationId: "p", transaction: replace },
      ])
        await expect(session.applyHistoryTransaction(args)).rejects.toThrow(UserError);
      expect(await session.getItems()).toEqual([...replaced, user("three")]);
      await session.clearSession();
      await session.addItems([call("c")]);
      await session.applyHistoryTransaction({ operationId: "o", transaction: replace });
      expect(await other.getItems()).toEqual([assistant("two")]);
    });
  });
}
