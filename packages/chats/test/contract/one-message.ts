import { expect } from "vitest";
import type { ContractMessage, ContractTest } from "./contract.ts";
import { dialogue, message, storedText, storeError, textsIn, textsOf } from "./values.ts";

const exchange = (): ContractMessage[] => [
  message("q1"),
  message("call", "assistant"),
  message("result1", "tool"),
  message("result2", "tool"),
  message("a1", "assistant"),
  message("q2"),
  message("a2", "assistant"),
];

/** What stays of the exchange, by the message that is deleted and by `with`. */
const deletions: readonly (readonly [id: string, isWithAnswer: boolean, left: string[]])[] = [
  ["q1", false, ["call", "result1", "result2", "a1", "q2", "a2"]],
  ["q1", true, ["q2", "a2"]],
  ["call", false, ["q1", "a1", "q2", "a2"]],
  ["result2", false, ["q1", "a1", "q2", "a2"]],
  ["a1", false, ["q1", "call", "result1", "result2", "q2", "a2"]],
  ["a1", true, ["q1", "q2", "a2"]],
  ["result1", true, ["q1", "q2", "a2"]],
  ["q2", true, ["q1", "call", "result1", "result2", "a1"]],
  ["a2", true, ["q1", "call", "result1", "result2", "a1", "q2"]],
];

const many = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

export const oneMessage: readonly ContractTest[] = [
  {
    title: "readMessage: one message with its status and chat, at any position; undefined if there is none",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", messages: dialogue(...many(150)) });
      await mine.upsert("c", message("m3", "assistant"), { status: "failed" });
      for (const id of ["m149", "m80", "m3", "m0"]) {
        const found = await connect().of(owner).readMessage("c", id);
        expect(found?.entry.message.id).toBe(id);
        expect(found?.entry.status).toBe(id === "m3" ? "failed" : "complete");
        expect(found?.chat).toEqual(await mine.get("c"));
      }
      expect(await mine.readMessage("c", "none")).toBeUndefined();
      expect(await mine.readMessage("none", "m0")).toBeUndefined();
      expect(await connect().of(`${owner}-other`).readMessage("c", "m0")).toBeUndefined();
    },
  },
  {
    title: "deleteMessage: drops a message or its answer, keeps all others, and cuts no tool exchange",
    async run({ mine }) {
      for (const [id, isWithAnswer, left] of deletions) {
        await mine.create({ id: "c", messages: exchange() });
        const before = await mine.read("c");
        const chat = await mine.deleteMessage("c", id, isWithAnswer ? { with: "answer" } : {});
        const page = await mine.read("c");
        expect(textsOf(page?.entries), `${id} ${isWithAnswer}`).toEqual(left);
        expect(page?.entries).toEqual(before?.entries.filter((entry) => left.includes(entry.message.id)));
        expect(page?.chat).toEqual(chat);
        expect(chat).toMatchObject({ messageCount: left.length, lastMessage: { id: left.at(-1) } });
        expect(chat.activeAt).toBe(before?.chat.activeAt);
        expect((await mine.list()).chats).toMatchObject([
          { messageCount: left.length, lastMessage: { text: left.at(-1) } },
        ]);
        await mine.delete("c");
      }
    },
  },
  {
    title: "deleteMessage: at any position, down to the last one; a missing one is NOT_FOUND",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue(...many(150)) });
      const left = many(150);
      for (const id of ["m149", "m86", "m85", "m3", "m0"]) {
        left.splice(left.indexOf(id), 1);
        const chat = await mine.deleteMessage("c", id);
        expect(chat).toMatchObject({ messageCount: left.length, lastMessage: { id: left.at(-1) } });
        expect(await textsIn(mine, "c")).toEqual(left);
      }
      const missing = mine.deleteMessage("c", "m0");
      await expect(missing).rejects.toMatchObject(storeError("NOT_FOUND", /message/));
      await expect(mine.deleteMessage("none", "m0")).rejects.toMatchObject(storeError("NOT_FOUND", /chat/));
      await mine.truncate("c", { behind: "m1" });
      const chat = await mine.deleteMessage("c", "m1");
      expect(chat).toMatchObject({ messageCount: 0 });
      expect(chat).not.toHaveProperty("lastMessage");
    },
  },
  {
    title: "deleteMessage: an answer of more messages than the first read is dropped whole",
    async run({ mine }) {
      const steps = many(100).map((id) => message(id, "assistant"));
      await mine.create({ id: "c", messages: [message("q0"), message("q"), ...steps] });
      await mine.deleteMessage("c", "m99", { with: "answer" });
      expect(await textsIn(mine, "c")).toEqual(["q0", "q"]);
    },
  },
  {
    title: "deleteMessage: nothing of the text is left, neither of messages, nor in titles and lists",
    async run({ mine, chats, stores }) {
      const secret = message("m1", "user", "the-secret");
      await mine.create({
        ...{ id: "c", title: "the-secret title", titleBy: "model", titleOf: secret },
        messages: [message("q"), message("a", "assistant"), secret],
      });
      await chats.flush();
      expect(await storedText(stores)).toContain("the-secret");
      const chat = await mine.deleteMessage("c", "m1");
      for (const field of ["title", "titleBy", "titleOf"]) expect(chat).not.toHaveProperty(field);
      await mine.get("c");
      expect(await storedText(stores)).not.toContain("the-secret");
    },
  },
  {
    title: "deleteMessage: a title stays with its message, and one of the user in any case",
    async run({ mine }) {
      const made = { title: "Title", titleBy: "model" as const };
      await mine.create({ id: "c", ...made, titleOf: message("q2"), messages: exchange() });
      expect(await mine.deleteMessage("c", "q1", { with: "answer" })).toMatchObject({
        ...made,
        titleOf: "q2",
      });
      await mine.update("c", { title: "Mine" });
      expect(await mine.deleteMessage("c", "q2")).toMatchObject({ title: "Mine", titleBy: "user" });
    },
  },
  {
    title:
      "deleteMessage: CONFLICT while a run makes the message or answers it; other messages can be deleted",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", messages: exchange() });
      const run = await mine.begin("c", { append: [message("q3")] }, { messageId: "a3" });
      const refused = async (...ids: string[]) => {
        for (const id of ids)
          for (const options of [{}, { with: "answer" as const }])
            await expect(connect().of(owner).deleteMessage("c", id, options), id).rejects.toMatchObject(
              storeError("CONFLICT", /run/),
            );
      };
      await refused("q3");
      await mine.deleteMessage("c", "q1", { with: "answer" });
      run.update(message("a3", "assistant", "half"));
      await run.save();
      await refused("q3", "a3");
      await mine.deleteMessage("c", "a2");
      expect(run.signal.aborted).toBe(false);
      await run.end({ message: message("a3", "assistant"), status: "complete" });
      expect(await textsIn(mine, "c")).toEqual(["q2", "q3", "a3"]);
      await mine.deleteMessage("c", "a3");
      expect(await textsIn(mine, "c")).toEqual(["q2", "q3"]);
    },
  },
  {
    title: "deleteMessage: the answer of a lost run can be deleted, and the chat has no run then",
    async run({ mine, connect, owner }) {
      const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
      run.update(message("a", "assistant", "half"));
      await run.save();
      const later = connect({ now: () => Date.now() + 60_000 }).of(owner);
      expect(await later.deleteMessage("c", "a")).not.toHaveProperty("run");
      expect(await textsIn(mine, "c")).toEqual(["q"]);
      const late = run.end({ message: message("a", "assistant"), status: "complete" });
      await expect(late).rejects.toMatchObject(storeError("CONFLICT"));
      expect(await textsIn(mine, "c")).toEqual(["q"]);
    },
  },
  {
    title: "deleteMessage: with after, expectedRevision and an operation id as each write",
    async run({ mine }) {
      const { revision } = await mine.create({ id: "c", messages: dialogue("q", "a", "q2") });
      const stale = mine.deleteMessage("c", "q", { after: "a" });
      await expect(stale).rejects.toMatchObject(storeError("CONFLICT", /last message/));
      await mine.deleteMessage("c", "q", { expectedRevision: revision, operationId: "op" });
      const outdated = mine.deleteMessage("c", "q2", { expectedRevision: revision });
      await expect(outdated).rejects.toMatchObject(storeError("CONFLICT", /expectedRevision/));
      await mine.append("c", [message("q")]);
      await mine.deleteMessage("c", "q", { operationId: "op" });
      const other = mine.deleteMessage("c", "q", { operationId: "op", with: "answer" });
      await expect(other).rejects.toMatchObject(storeError("CONFLICT", /operationId/));
      expect(await textsIn(mine, "c")).toEqual(["a", "q2", "q"]);
    },
  },
  {
    title: "updateMessage: replaces the metadata of a message, and nothing else",
    async run({ mine }) {
      const made = { title: "Title", titleBy: "model" as const, titleOf: message("q") };
      const before = await mine.create({ id: "c", ...made, messages: dialogue("q", "a") });
      await mine.upsert("c", message("a", "assistant"), { status: "failed" });
      const chat = await mine.updateMessage("c", "q", { metadata: { vote: 1 } });
      expect(chat).toMatchObject({
        title: "Title",
        titleOf: "q",
        activeAt: before.activeAt,
        messageCount: 2,
      });
      expect((await mine.readMessage("c", "q"))?.entry).toMatchObject({
        message: { ...message("q"), metadata: { vote: 1 } },
        createdAt: before.createdAt,
      });
      await mine.updateMessage("c", "a", { metadata: { vote: 2 } });
      await mine.updateMessage("c", "a", { metadata: null });
      const { entry } = (await mine.readMessage("c", "a")) ?? {};
      expect(entry).toMatchObject({ status: "failed" });
      expect(entry?.message).toEqual(message("a", "assistant"));
      const missing = mine.updateMessage("c", "none", { metadata: 1 });
      await expect(missing).rejects.toMatchObject(storeError("NOT_FOUND", /message/));
      const other = mine.updateMessage("c", "q", { metadata: 1, role: "assistant" } as never);
      await expect(other).rejects.toMatchObject(storeError("INVALID_ARGUMENT", /role/));
      const run = await mine.begin("c", {});
      const running = mine.updateMessage("c", "q", { metadata: 1 });
      await expect(running).rejects.toMatchObject(storeError("CONFLICT", /run/));
      await run.end({ status: "stopped" });
    },
  },
];
