import { expect } from "vitest";
import type { Chat } from "../../src/chat.ts";
import type { OwnedChats } from "../../src/list/owned-chats.ts";
import type { ContractMessage, ContractTest } from "./contract.ts";
import { dialogue, message, storeError, textsIn } from "./values.ts";

type Write = (mine: OwnedChats<ContractMessage>, operationId: string, other: string) => Promise<Chat>;

const writes: Record<string, Write> = {
  update: (mine, operationId, other) => mine.update("c", { title: `T${other}` }, { operationId }),
  append: (mine, operationId, other) => mine.append("c", [message(`n${other}`)], { operationId }),
  upsert: (mine, operationId, other) =>
    mine.upsert("c", message("a", "assistant", `n${other}`), { operationId }),
  edit: (mine, operationId, other) =>
    mine.edit("c", "q2", message("q2b", "user", `n${other}`), { operationId }),
  truncate: (mine, operationId, other) =>
    mine.truncate("c", other === "" ? { from: "a" } : { behind: null }, { operationId }),
  dropAnswer: (mine, operationId, other) =>
    mine.dropAnswer("c", other === "" ? "q" : undefined, { operationId }),
  deleteMessage: (mine, operationId, other) =>
    mine.deleteMessage("c", other === "" ? "a" : "q2", { operationId }),
  updateMessage: (mine, operationId, other) =>
    mine.updateMessage("c", "a", { metadata: `n${other}` }, { operationId }),
};

export const repeating: readonly ContractTest[] = [
  ...Object.entries(writes).map(
    ([method, write]): ContractTest => ({
      title: `operation ids: ${method} takes effect once, also concurrently in two processes; another call fails with CONFLICT`,
      async run({ mine, connect, owner }) {
        await mine.create({ id: "c", messages: dialogue("q", "a", "q2", "a2") });
        const processes = [mine, connect().of(owner), connect().of(owner)];
        await Promise.all(processes.map((each) => write(each, "op", "")));
        const chat = await mine.get("c");
        const texts = await textsIn(mine, "c");
        for (const each of processes) expect(await write(each, "op", "")).toEqual(chat);
        await expect(write(mine, "op", "other")).rejects.toMatchObject(storeError("CONFLICT", /operationId/));
        expect(await textsIn(mine, "c")).toEqual(texts);
        await mine.append("c", [message("later")]);
        expect((await write(mine, "op", "")).lastMessage?.id).toBe("later");
        await expect(mine.touch("c", { operationId: "op" })).rejects.toMatchObject(storeError("CONFLICT"));
      },
    }),
  ),
  {
    title: "operation ids: create creates one chat, and returns the same id each time",
    async run({ mine, connect, owner }) {
      const chat = { title: "Rome", messages: dialogue("q") };
      const made = await Promise.all(
        [mine, connect().of(owner), mine].map((each) => each.create(chat, { operationId: "op" })),
      );
      expect(new Set(made.map(({ id }) => id)).size).toBe(1);
      expect((await mine.list()).chats).toHaveLength(1);
      await expect(mine.create({ ...chat, title: "Oslo" }, { operationId: "op" })).rejects.toMatchObject(
        storeError("CONFLICT", /operationId/),
      );
      expect((await mine.create(chat, { operationId: "other" })).id).not.toBe(made[0]?.id);
    },
  },
  {
    title: "operation ids: a write that changed nothing is also remembered",
    async run({ mine }) {
      const created = await mine.create({ id: "c", messages: dialogue("q") });
      const same = await mine.dropAnswer("c", "q", { operationId: "op" });
      expect(same).toEqual({ ...created, revision: same.revision });
      await mine.append("c", [message("a", "assistant")]);
      await mine.dropAnswer("c", "q", { operationId: "op" });
      expect(await textsIn(mine, "c")).toEqual(["q", "a"]);
    },
  },
  {
    title: "operation ids: the newest 64 are remembered",
    async run({ mine }) {
      await mine.create({ id: "c" });
      for (let n = 0; n < 65; n++) await mine.touch("c", { operationId: `op${n}` });
      const chat = await mine.get("c");
      expect(await mine.touch("c", { operationId: "op1" })).toEqual(chat);
      expect((await mine.touch("c", { operationId: "op0" })).revision).not.toBe(chat?.revision);
    },
  },
];
