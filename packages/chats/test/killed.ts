import { setTimeout as sleep } from "node:timers/promises";
import type { StoreFactory } from "@scrollback/store-core";
import { test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import { writeAndKill } from "../../../conformance-tests/test/fixtures/write-and-kill.ts";
import { ChatStore } from "../src/index.ts";
import type { ContractMessage } from "./contract/contract.ts";
import { fileOf, message, textsIn } from "./contract/values.ts";

const program = new URL("child.ts", import.meta.url);
const ROUNDS = rounds(2, 4);

/** Kills writers of chats. `newUrl` returns the URL of new, empty stores. */
export function declareKilledTest(backend: string, newUrl: () => Promise<string>): void {
  test.concurrent(`a writer killed at any moment loses nothing, on ${backend}`, async ({ expect }) => {
    const url = await newUrl();
    await using stores = await openTestStores(url);
    await stores.setup();
    for (let round = 0; round < ROUNDS; round++) {
      const chatId = `chat-${round}`;
      const acknowledged = await writeAndKill({ program, args: [url, chatId], withinMs: 100 });
      // A request that the server received before the kill may take effect after it.
      await sleep(250);
      // The unfinished run keeps half of the newest answer.
      await using chats = new ChatStore<ContractMessage>({ stores, leaseMs: 1_000, beatMs: 5, fileBytes: 8 });
      const mine = chats.of("ada");
      const page = await mine.read(chatId);
      const ids = page?.entries.map((entry) => entry.message.id) ?? [];
      expect(ids.slice(0, acknowledged.length)).toEqual(acknowledged);
      expect(ids.length - acknowledged.length).toBeLessThanOrEqual(1);
      expect(new Set(ids).size).toBe(ids.length);
      for (const entry of page?.entries.slice(0, -1) ?? [])
        expect(entry).toMatchObject({
          status: "complete",
          message: { content: expect.not.stringMatching(fileOf("half")) },
        });
      expect(page?.chat.messageCount).toBe(ids.length);

      const { chats: listed } = await mine.list();
      expect(listed.map(({ id }) => id)).toEqual(
        Array.from({ length: round + 1 }, (_, index) => `chat-${round - index}`),
      );
      expect(listed[0]).toMatchObject({ messageCount: ids.length, lastMessage: { id: ids.at(-1) } });

      // The next turn replaces the dead one.
      await expect.poll(async () => (await mine.get(chatId))?.run?.state).not.toBe("running");
      const run = await mine.begin(chatId, { append: [message("next")] }, { messageId: "answer" });
      await run.end({ message: message("answer", "assistant", "whole"), status: "complete" });
      expect((await textsIn(mine, chatId)).slice(-2)).toEqual(["next", "whole"]);
      expect((await mine.read(chatId))?.entries.filter(({ status }) => status === "partial")).toEqual([]);
      if (round < ROUNDS - 1) continue;
      await mine.deleteAll();
      expect(await storedContents(stores)).toEqual([]);
    }
  });
}

async function storedContents(stores: StoreFactory): Promise<string[]> {
  const found: string[] = [];
  for await (const { threadId, count } of stores.iterateThreads({ prefix: "scrollback:content:" }))
    if (count > 0) found.push(threadId);
  return found;
}
