import { expect } from "vitest";
import type { ChatChange } from "../../src/read/follow-chat.ts";
import type { ContractMessage, ContractTest, Trial } from "./contract.ts";
import { dialogue, message, textsOf } from "./values.ts";

/** Follows a chat and keeps its messages, like a client. */
function follow(mine: Trial["mine"], chatId: string, options: { everyMs: number; signal?: AbortSignal }) {
  const changes: ChatChange<ContractMessage>[] = [];
  const client = { changes, texts: [] as string[], done: Promise.resolve() };
  client.done = (async () => {
    for await (const change of mine.follow(chatId, options)) {
      changes.push(change);
      if (change.type !== "changed") continue;
      client.texts.splice(change.index, Number.POSITIVE_INFINITY, ...textsOf(change.entries));
      expect(client.texts).toHaveLength(change.chat.messageCount);
    }
  })();
  return client;
}

export const following: readonly ContractTest[] = [
  {
    title: "follow: yields the chat, then each change of this and of other processes, until its deletion",
    async run({ mine, connect, owner }) {
      const ids = Array.from({ length: 100 }, (_, index) => `m${index}`);
      await mine.create({ id: "c", messages: dialogue(...ids) });
      const own = follow(mine, "c", { everyMs: 60_000 });
      const theirs = follow(connect().of(owner), "c", { everyMs: 20 });
      const both = (texts: string[]) =>
        Promise.all(
          [own, theirs].map((client) => expect.poll(() => client.texts, { timeout: 10_000 }).toEqual(texts)),
        );
      await both(ids);
      await mine.append("c", [message("new")]);
      await both([...ids, "new"]);
      await mine.upsert("c", message("m5", "assistant", "other"));
      await both([...ids.with(5, "other"), "new"]);
      await mine.truncate("c", { from: "m3" });
      await both(ids.slice(0, 3));
      await mine.edit("c", "m2", message("m2b"));
      await both(["m0", "m1", "m2b"]);
      await mine.update("c", { title: "Renamed" });
      const titled = { type: "changed", index: 3, entries: [], chat: { title: "Renamed" } };
      for (const client of [own, theirs]) {
        await expect.poll(() => client.changes.at(-1), { timeout: 10_000 }).toMatchObject(titled);
      }
      await mine.truncate("c", { behind: null });
      await both([]);
      await mine.delete("c");
      await Promise.all([own.done, theirs.done]);
      expect(own.changes.at(-1)).toEqual({ type: "gone" });
      expect(theirs.changes.at(-1)).toEqual({ type: "gone" });
    },
  },
  {
    title: "follow: ends with its signal, and at once for a missing chat",
    async run({ mine }) {
      const none = follow(mine, "none", { everyMs: 60_000 });
      await none.done;
      expect(none.changes).toEqual([{ type: "gone" }]);
      await mine.create({ id: "c" });
      const controller = new AbortController();
      const client = follow(mine, "c", { everyMs: 60_000, signal: controller.signal });
      await expect.poll(() => client.changes).toHaveLength(1);
      controller.abort();
      await client.done;
      expect(client.changes).toHaveLength(1);
    },
  },
  {
    title: "follow: ends if the chat is deleted, also if it is created again",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", messages: dialogue("q") });
      const client = follow(connect().of(owner), "c", { everyMs: 300 });
      await expect.poll(() => client.texts).toEqual(["q"]);
      await mine.delete("c");
      await mine.create({ id: "c", messages: dialogue("other") });
      await client.done;
      expect(client.changes.at(-1)).toEqual({ type: "gone" });
    },
  },
];
