import { expect } from "vitest";
import type { ContractTest } from "./contract.ts";
import { dialogue, listedIds, message, storeError, textsIn } from "./values.ts";

export const copying: readonly ContractTest[] = [
  {
    title: "fork: copies the messages up to a given one, and does not change the source",
    async run({ mine, connect, owner }) {
      const fields = { title: "Rome", labels: { a: 1 }, metadata: { b: [2] } };
      await mine.create({ id: "c", ...fields, pinned: true, messages: dialogue("q", "a", "q2", "a2") });
      await mine.upsert("c", message("a", "assistant", "half"), { status: "stopped" });
      const before = await mine.read("c");
      const fork = await connect().of(owner).fork("c", { at: "a" });
      expect(fork).toMatchObject({ ...fields, titleBy: "user", pinned: false, messageCount: 2 });
      expect(fork).toMatchObject({
        forkedFrom: { chatId: "c", messageId: "a" },
        lastMessage: { text: "half" },
      });
      expect((await mine.read(fork.id))?.entries).toEqual(before?.entries.slice(0, 2));
      expect(await mine.read("c")).toEqual(before);
      expect((await listedIds(mine)).toSorted()).toEqual([fork.id, "c"].toSorted());
      await mine.append(fork.id, [message("q3")]);
      expect(await textsIn(mine, "c")).toEqual(["q", "half", "q2", "a2"]);
      const all = await mine.fork("c", { id: "all", title: "Other" });
      expect(all).toMatchObject({
        id: "all",
        title: "Other",
        messageCount: 4,
        forkedFrom: { messageId: "a2" },
      });
      const none = await mine.fork("c", { at: null });
      expect(none).toMatchObject({ messageCount: 0, forkedFrom: { chatId: "c", messageId: null } });
    },
  },
  {
    title:
      "fork: a missing message or chat fails with NOT_FOUND, a used id or another revision with CONFLICT",
    async run({ mine }) {
      const { revision } = await mine.create({ id: "c", messages: dialogue("q") });
      await mine.create({ id: "taken" });
      await mine.touch("c");
      await expect(mine.fork("c", { at: "x" })).rejects.toMatchObject(storeError("NOT_FOUND", /message/));
      await expect(mine.fork("missing")).rejects.toMatchObject(storeError("NOT_FOUND", /chat/));
      await expect(mine.fork("c", { id: "taken" })).rejects.toMatchObject(storeError("CONFLICT", /taken/));
      const outdated = mine.fork("c", { expectedRevision: revision });
      await expect(outdated).rejects.toMatchObject(storeError("CONFLICT", /expectedRevision/));
      expect(await textsIn(mine, "taken")).toEqual([]);
    },
  },
  {
    title:
      "fork: takes effect once under an operation id, also from two processes and after the source has changed",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", messages: dialogue("q", "a", "q2") });
      const options = { at: "q2", operationId: "op" };
      const forks = await Promise.all(
        [mine, connect().of(owner), mine].map((each) => each.fork("c", options)),
      );
      expect(new Set(forks.map(({ id }) => id)).size).toBe(1);
      const id = forks[0]?.id ?? "";
      await mine.truncate("c", { from: "a" });
      expect((await mine.fork("c", options)).id).toBe(id);
      expect(await textsIn(mine, id)).toEqual(["q", "a", "q2"]);
      const other = mine.fork("c", { at: "q", operationId: "op" });
      await expect(other).rejects.toMatchObject(storeError("CONFLICT", /operationId/));
      expect(await listedIds(mine)).toHaveLength(2);
    },
  },
  {
    title: "export, import: a chat keeps its times and values that JSON lacks, also for another owner",
    async run({ mine, chats, owner }) {
      const dated = { ...message("d"), sentAt: new Date(5) };
      await mine.create({
        ...{ id: "c", title: "Rome", pinned: true, labels: { a: true }, metadata: { since: new Date(7) } },
        messages: [dated, message("a", "assistant")],
      });
      await mine.upsert("c", message("a", "assistant", "failed"), { status: "failed" });
      const exported = await mine.export("c");
      expect(exported).toMatchObject({
        type: "scrollback.chat",
        version: 2,
        chat: { id: "c", title: "Rome" },
      });
      const data = JSON.parse(JSON.stringify(exported));
      expect(data).toEqual(exported);
      const theirs = chats.of(`${owner}-other`);
      const imported = await theirs.import(data, { id: "copy", operationId: "op" });
      const page = await mine.read("c");
      const { incarnation, revision } = imported;
      expect(imported).toEqual({ ...page?.chat, id: "copy", ...{ incarnation, revision } });
      expect((await theirs.read("copy"))?.entries).toEqual(page?.entries);
      expect(await theirs.import(data, { id: "copy", operationId: "op" })).toEqual(imported);
      await expect(theirs.import(data, { id: "copy" })).rejects.toMatchObject(
        storeError("CONFLICT", /taken/),
      );
      const { id } = await theirs.import(data);
      expect((await listedIds(theirs)).toSorted()).toEqual(["copy", id].toSorted());
      expect(await mine.export("missing")).toBeUndefined();
    },
  },
  {
    title: "import: a value that is not an export fails with INVALID_STATE, and nothing is written",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue("q") });
      const data = JSON.parse(JSON.stringify(await mine.export("c")));
      const invalid: unknown[] = [
        undefined,
        null,
        "x",
        [],
        {},
        { ...data, version: 3 },
        { ...data, entries: "none" },
        { ...data, entries: [{}] },
        { ...data, entries: [{ ...data.entries[0], status: "done" }] },
        { ...data, entries: [{ ...data.entries[0], message: { id: "", role: "user" } }] },
        { ...data, chat: { ...data.chat, createdAt: "yesterday" } },
        ...[1e300, 0.5, -1, null].flatMap((time) => [
          { ...data, chat: { ...data.chat, activeAt: time } },
          { ...data, entries: [{ ...data.entries[0], updatedAt: time }] },
        ]),
        { ...data, chat: { ...data.chat, labels: [] } },
        { ...data, chat: { ...data.chat, title: "t".repeat(513) } },
        { ...data, chat: undefined },
        { ...data, types: { v: 1, values: "?" } },
      ];
      for (const one of invalid) {
        await expect(mine.import(one), JSON.stringify(one)).rejects.toMatchObject(
          storeError("INVALID_STATE"),
        );
      }
      const incomplete = mine.import({ ...data, chat: { title: "Rome" } });
      await expect(incomplete).rejects.toMatchObject(
        storeError("INVALID_STATE", /createdAt.*updatedAt.*activeAt.*pinned.*archived.*labels.*metadata/),
      );
      const wrong = mine.import({
        ...data,
        entries: [data.entries[0], { ...data.entries[0], createdAt: 0.5 }],
      });
      await expect(wrong).rejects.toMatchObject(
        storeError("INVALID_STATE", /entries\[1\]\.createdAt must be a time in milliseconds since 1970/),
      );
      const titled = mine.import({ ...data, chat: { ...data.chat, title: 5 } });
      await expect(titled).rejects.toMatchObject(storeError("INVALID_STATE", /^import: title must/));
      expect(await listedIds(mine)).toEqual(["c"]);
    },
  },
];
