import type { StoreFactory } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { expect, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { newServerStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { ChatStore, type ChatSummary } from "../src/index.ts";
import type { ContractMessage } from "./contract/contract.ts";
import { dialogue, message } from "./contract/values.ts";

const CHANGES = 500;
const AT_ONCE = 8;

async function openSqlite(): Promise<StoreFactory> {
  return createSqliteStores({ url: scratchUrl(), synchronous: "normal" });
}

async function openRedis(): Promise<StoreFactory> {
  return (await newServerStores("Redis"))();
}

/** Redis gets fewer: over a network, 10,000 would take minutes on a busy machine. */
test.each([
  ["SQLite", 10_000, openSqlite],
  ["Redis", 1_000, openRedis],
] as const)("on %s the list of %i chats equals that of a model", async (_, size, open) => {
  await using stores = await open();
  let time = 1_800_000_000_000;
  await using chats = new ChatStore<ContractMessage>({ stores, now: () => ++time });
  const mine = chats.of("ada");
  const model = new Map<string, ChatSummary>();
  const each = async (count: number, work: (index: number) => Promise<unknown>) => {
    let next = 0;
    const worker = async () => {
      while (next < count) await work(next++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  };

  await each(size, async (index) => {
    const id = `c${index}`;
    model.set(id, await mine.create({ id, messages: dialogue("q") }));
  });
  // Each chat has at most one change at a time, so that the model knows the last one.
  await each(CHANGES, async (index) => {
    const id = `c${(index * 7_919) % size}`;
    const change = [
      () => mine.touch(id),
      () => mine.append(id, [message("more")]),
      () => mine.update(id, { title: `title ${index}` }),
      () => mine.update(id, { archived: true }),
      () => mine.delete(id),
    ][index % 5];
    const chat = await change?.();
    if (chat) model.set(id, chat);
    else model.delete(id);
  });

  const expected = [...model.values()]
    .filter(({ archived }) => !archived)
    .sort((one, other) => other.activeAt - one.activeAt)
    .map(({ id, title, messageCount, activeAt }) => ({ id, title, messageCount, activeAt }));
  const listed: ChatSummary[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await mine.list({ limit: 500, ...(cursor !== undefined && { cursor }) });
    listed.push(...page.chats);
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  expect(
    listed.map(({ id, title, messageCount, activeAt }) => ({ id, title, messageCount, activeAt })),
  ).toEqual(expected);
  expect((await mine.list({ archived: true, limit: 1_000 })).chats).toHaveLength(CHANGES / 5);
});
