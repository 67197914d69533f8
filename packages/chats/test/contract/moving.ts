import { expect } from "vitest";
import type { ContractTest, Trial } from "./contract.ts";
import { dialogue, listedIds, message, storeError, textsIn } from "./values.ts";

/** The ids of threads and the contents of lists that name an owner. */
async function tracesOf({ stores }: Trial, owner: string): Promise<string[]> {
  const traces: string[] = [];
  for await (const { threadId } of stores.iterateThreads())
    if (threadId.startsWith(`chats:chat:${owner}:`)) traces.push(threadId);
  for (const name of (await stores.listIndexes({ prefix: "chats:", limit: 1_000 })).names)
    if (name.split(":")[2] === owner)
      traces.push(...(await stores.index(name).list()).entries.map((entry) => JSON.stringify(entry)));
  return traces;
}

export const moving: readonly ContractTest[] = [
  {
    title: "move: a chat that has moved there and back is moved again",
    async run({ mine, chats, owner }) {
      const to = `${owner}-new`;
      await mine.create({ id: "c", messages: dialogue("q") });
      await chats.move("c", { from: owner, to });
      await chats.move("c", { from: to, to: owner });
      const { incarnation } = await chats.move("c", { from: owner, to });
      // The same call again finds that it is done.
      expect(await chats.move("c", { from: owner, to })).toMatchObject({ incarnation });
      expect(await mine.get("c")).toBeUndefined();
    },
  },
  {
    title: "move: the whole chat is the new owner's, and nothing is left with the old one",
    async run(trial) {
      const { mine, chats, owner, connect } = trial;
      const to = `${owner}-new`;
      await mine.create({
        ...{ id: "c", title: "Rome", titleBy: "model", titleOf: message("q") },
        ...{ pinned: true, labels: { a: 1 }, metadata: { b: [2] } },
        messages: dialogue("q", "a"),
      });
      await mine.upsert("c", message("a", "assistant", "half"), { status: "stopped" });
      await mine.touch("c", { operationId: "op" });
      const page = await mine.read("c");
      const moved = await chats.move("c", { from: owner, to });
      const { incarnation, revision } = moved;
      expect(moved).toEqual({ ...page?.chat, incarnation, revision });
      expect(incarnation).not.toBe(page?.chat.incarnation);
      const theirs = connect().of(to);
      expect(await theirs.read("c")).toEqual({ ...page, chat: moved });
      expect(await listedIds(theirs)).toEqual(["c"]);
      expect((await theirs.list({ pinned: true })).chats).toMatchObject([{ title: "Rome", messageCount: 2 }]);
      expect(await theirs.touch("c", { operationId: "op" })).toEqual(moved);
      expect(await mine.get("c")).toBeUndefined();
      expect(await listedIds(mine)).toEqual([]);
      await chats.flush();
      expect(await tracesOf(trial, owner)).toEqual([]);
      await theirs.append("c", [message("q2")]);
      expect(await chats.move("c", { from: owner, to })).toEqual(await theirs.get("c"));
      expect(await chats.move("c", { from: to, to: owner })).toMatchObject({ messageCount: 3 });
      expect(await textsIn(mine, "c")).toEqual(["q", "half", "q2"]);
      expect(await listedIds(theirs)).toEqual([]);
    },
  },
  {
    title:
      "move: another chat of this id, an active run, and wrong arguments are refused, and nothing changes",
    async run({ mine, chats, owner }) {
      const to = `${owner}-new`;
      const move = () => chats.move("c", { from: owner, to });
      await expect(move()).rejects.toMatchObject(storeError("NOT_FOUND", /chat/));
      await mine.create({ id: "c", messages: dialogue("q") });
      await chats.of(to).create({ id: "c", title: "Other" });
      await expect(move()).rejects.toMatchObject(storeError("CONFLICT", /taken/));
      expect(await chats.of(to).get("c")).toMatchObject({ title: "Other", messageCount: 0 });
      await mine.append("c", [message("a", "assistant")]);
      await chats.of(to).delete("c");
      const run = await mine.begin("c", { append: [message("q2")] });
      await expect(move()).rejects.toMatchObject(storeError("CONFLICT", /run/));
      await run.end({ message: message(run.messageId, "assistant", "a2"), status: "complete" });
      expect(await chats.of(to).get("c")).toBeUndefined();
      await move();
      expect(await textsIn(chats.of(to), "c")).toEqual(["q", "a", "q2", "a2"]);
      for (const [options, name] of [
        [{ from: to, to }, /to must/],
        [{ from: "", to }, /from/],
        [{ from: to }, /to/],
        [{ from: to, to: owner, id: "d" }, /id/],
      ] as const)
        await expect(chats.move("c", options as never)).rejects.toMatchObject(
          storeError("INVALID_ARGUMENT", name),
        );
    },
  },
  {
    title: "move: the answer of a lost run is failed, and its process writes no more",
    async run({ mine, owner, connect }) {
      const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
      run.update(message("a", "assistant", "half"));
      await run.save();
      const later = connect({ now: () => Date.now() + 60_000 });
      const to = `${owner}-new`;
      const moved = await later.move("c", { from: owner, to });
      expect(moved).not.toHaveProperty("run");
      expect((await later.of(to).readMessage("c", "a"))?.entry).toMatchObject({ status: "failed" });
      const late = run.end({ message: message("a", "assistant"), status: "complete" });
      await expect(late).rejects.toMatchObject(storeError("NOT_FOUND"));
      expect(await mine.get("c")).toBeUndefined();
    },
  },
  {
    title: "move: concurrent calls and writers leave one chat, with each write that succeeded",
    async run({ mine, owner, connect }) {
      await mine.create({ id: "c", messages: dialogue("q", "a") });
      const to = `${owner}-new`;
      const moves = [0, 1].map(() => connect().move("c", { from: owner, to }));
      const writes = Array.from({ length: 4 }, (_, index) =>
        connect()
          .of(owner)
          .append("c", [message(`m${index}`)]),
      );
      const outcomes = await Promise.allSettled(writes);
      for (const moved of await Promise.all(moves)) expect(moved.id).toBe("c");
      const written = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? `m${index}` : []));
      const texts = await textsIn(connect().of(to), "c");
      expect(texts.slice(0, 2)).toEqual(["q", "a"]);
      expect(texts.slice(2).toSorted()).toEqual(written);
      expect(await mine.get("c")).toBeUndefined();
      expect(await listedIds(mine)).toEqual([]);
    },
  },
];
