import { setTimeout as sleep } from "node:timers/promises";
import type { StoreFactory } from "@scrollback/store-core";
import { expect } from "vitest";
import type { ContractTest } from "./contract.ts";
import { dialogue, message, storedText, storeError, textsIn } from "./values.ts";

const keep = { keepSibling: true };
const isStored = async (stores: StoreFactory, text: string) => (await storedText(stores)).includes(text);

export const siblings: readonly ContractTest[] = [
  {
    title: "siblings: an edit keeps what it replaces, and a switch shows it again with what followed it",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", messages: dialogue("q", "a", "q2", "a2") });
      expect(await mine.siblings("c", "q2")).toBeUndefined();
      await sleep(2);
      const edited = await mine.edit("c", "q2", message("q2-new"), keep);
      expect(edited).toMatchObject({ messageCount: 3, lastMessage: { id: "q2-new" } });
      const group = { behind: "a", ids: ["q2", "q2-new"], active: "q2-new" };
      expect(edited.siblings).toEqual([group]);
      expect(await mine.siblings("c", "q2")).toEqual(group);
      expect((await mine.read("c", { limit: 1 }))?.chat.siblings).toEqual([group]);
      const theirs = connect().of(owner);
      await theirs.append("c", [message("a2-new", "assistant")]);
      const switched = await theirs.switchTo("c", "q2");
      expect(switched).toMatchObject({ messageCount: 4, siblings: [{ ...group, active: "q2" }] });
      expect(await textsIn(mine, "c")).toEqual(["q", "a", "q2", "a2"]);
      expect(await mine.switchTo("c", "q2")).toEqual(switched);
      await mine.switchTo("c", "q2-new");
      expect(await textsIn(theirs, "c")).toEqual(["q", "a", "q2-new", "a2-new"]);
    },
  },
  {
    title: "siblings: an edit under the same id keeps the earlier message under another one",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue("q", "a") });
      await sleep(2);
      await mine.dropAnswer("c", "a", keep);
      await mine.append("c", [message("b", "assistant")]);
      const { siblings } = await mine.edit("c", "q", message("q", "user", "changed"), keep);
      const [{ ids = [], ...group } = {}] = siblings ?? [];
      expect(group).toEqual({ behind: null, active: "q" });
      expect(ids).toEqual([expect.stringMatching(/^(?!q$)/), "q"]);
      const [before = ""] = ids;
      const switched = await mine.switchTo("c", before);
      expect(await textsIn(mine, "c")).toEqual(["q", "b"]);
      expect(switched.siblings).toContainEqual({ behind: before, ids: ["a", "b"], active: "b" });
      await mine.switchTo("c", "a");
      expect(await textsIn(mine, "c")).toEqual(["q", "a"]);
      await mine.switchTo("c", "q");
      expect(await textsIn(mine, "c")).toEqual(["changed"]);
    },
  },
  {
    title: "siblings: branches of branches come back with the branch that has them",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue("q", "a", "q2", "a2") });
      await mine.dropAnswer("c", "a2", keep);
      expect((await mine.get("c"))?.siblings).toEqual([{ behind: "q2", ids: ["a2"] }]);
      await mine.append("c", [message("a2-other", "assistant")]);
      await mine.edit("c", "q", message("r"), keep);
      expect((await mine.get("c"))?.siblings).toEqual([{ behind: null, ids: ["q", "r"], active: "r" }]);
      await expect(mine.switchTo("c", "a2")).rejects.toMatchObject(storeError("NOT_FOUND"));
      const { siblings } = await mine.switchTo("c", "q");
      expect(siblings).toEqual(
        expect.arrayContaining([
          { behind: null, ids: ["q", "r"], active: "q" },
          { behind: "q2", ids: ["a2", "a2-other"], active: "a2-other" },
        ]),
      );
      await mine.switchTo("c", "a2");
      expect(await textsIn(mine, "c")).toEqual(["q", "a", "q2", "a2"]);
    },
  },
  {
    title: "siblings: a regenerated answer keeps the earlier one, and a run is on one path only",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue("q", "a") });
      // Siblings of one millisecond are in the order of their ids, and the earlier answer gets another one.
      await sleep(2);
      const run = await mine.begin("c", { keep: 1, keepSibling: true }, { messageId: "b" });
      run.update(message("b", "assistant", "half"));
      await run.save();
      await expect(mine.switchTo("c", "a")).rejects.toMatchObject(storeError("CONFLICT", /run/));
      await run.end({ status: "complete", message: message("b", "assistant") });
      expect((await mine.get("c"))?.siblings).toEqual([{ behind: "q", ids: ["a", "b"], active: "b" }]);
      const other = mine.begin("c", { keep: 1 }, { messageId: "a" });
      await expect(other).rejects.toMatchObject(storeError("CONFLICT", /id/));
      const again = await mine.begin("c", { keep: 1, keepSibling: true }, { messageId: "b" });
      await again.end({ status: "complete", message: message("b", "assistant", "again") });
      const [group] = (await mine.get("c"))?.siblings ?? [];
      expect(group).toMatchObject({ ids: ["a", expect.any(String), "b"], active: "b" });
      await mine.switchTo("c", group?.ids[1] ?? "");
      expect(await textsIn(mine, "c")).toEqual(["q", "b"]);
    },
  },
  {
    title: "siblings: an unfinished answer that is left is closed as stopped",
    async run({ mine, connect, owner }) {
      const theirs = connect({ leaseMs: 60_000 }).of(owner);
      const run = await theirs.begin("c", { append: [message("q")] }, { messageId: "a" });
      run.update(message("a", "assistant", "half"));
      await run.save();
      await mine.edit("c", "q", message("q2"), keep);
      await expect(run.save()).resolves.toBeUndefined();
      await run.end({ status: "complete", message: message("a", "assistant") });
      await mine.switchTo("c", "q");
      expect((await mine.read("c"))?.entries.map(({ status }) => status)).toEqual(["complete", "stopped"]);
      expect(await textsIn(mine, "c")).toEqual(["q", "half"]);
    },
  },
  {
    title: "deleteSibling: nothing of it stays stored, nor of what branches off it",
    async run({ mine, chats, owner, stores }) {
      const secret = (name: string) => `secret-${name}-${owner}`;
      await mine.create({ id: "c", messages: dialogue("q", secret("a")) });
      await mine.dropAnswer("c", undefined, keep);
      await mine.append("c", [message(secret("b"), "assistant")]);
      await mine.edit("c", "q", message("r"), keep);
      expect(await isStored(stores, secret("a"))).toBe(true);
      const chat = await mine.deleteSibling("c", "q");
      expect(chat).not.toHaveProperty("siblings");
      expect(await isStored(stores, secret("a"))).toBe(false);
      expect(await isStored(stores, secret("b"))).toBe(false);
      await expect(mine.deleteSibling("c", "q")).rejects.toMatchObject(storeError("NOT_FOUND"));
      await mine.dropAnswer("c", undefined, keep);
      await mine.edit("c", "r", message("s"), keep);
      await expect(mine.deleteSibling("c", "s")).rejects.toMatchObject(storeError("CONFLICT", /switchTo/));
      await mine.switchTo("c", "r");
      expect(await textsIn(mine, "c")).toEqual(["r"]);
      await chats.flush();
    },
  },
  {
    title: "siblings: what hangs behind a message goes with it, and with the chat",
    async run({ mine, chats, owner, stores }) {
      const secret = (name: string) => `secret-${name}-${owner}`;
      await mine.create({ id: "c", messages: dialogue("q", secret("a"), "q2", secret("a2")) });
      await mine.dropAnswer("c", secret("a2"), keep);
      await mine.append("c", [message("b2", "assistant")]);
      await mine.truncate("c", { from: "q2" });
      await chats.flush();
      expect(await isStored(stores, secret("a2"))).toBe(false);
      expect(await mine.get("c")).not.toHaveProperty("siblings");
      await mine.dropAnswer("c", secret("a"), keep);
      await mine.delete("c");
      await chats.flush();
      expect(await isStored(stores, secret("a"))).toBe(false);
      expect(await isStored(stores, `:${owner}:c`)).toBe(false);
    },
  },
  {
    title: "siblings: past the bounds what was left first goes",
    async run({ connect, owner, stores }) {
      const q = (index: number) => `q${index}-${owner}`;
      const chats = connect({ maxSiblings: 3 });
      const mine = chats.of(owner);
      await mine.create({ id: "c", messages: dialogue(q(0)) });
      for (let index = 1; index <= 4; index++) {
        await sleep(2);
        await mine.edit("c", q(index - 1), message(q(index)), keep);
      }
      expect(await mine.siblings("c", q(4))).toMatchObject({ ids: [q(2), q(3), q(4)] });
      await chats.flush();
      expect(await isStored(stores, q(1))).toBe(false);
      const small = connect({ maxSiblingBytes: 1 }).of(owner);
      await small.edit("c", q(4), message(q(5)), keep);
      expect(await small.siblings("c", q(5))).toMatchObject({ ids: [q(4), q(5)] });
    },
  },
  {
    title: "siblings: export, import and move keep them; a fork has none",
    async run({ mine, chats, owner, stores }) {
      await mine.create({ id: "c", messages: dialogue("q", "a", "q2") });
      await mine.edit("c", "q2", message("r2"), keep);
      await mine.edit("c", "q", message("r"), keep);
      const data = JSON.parse(JSON.stringify(await mine.export("c")));
      expect(data).toMatchObject({ version: 2, continuations: [{ behind: null }, { behind: "a" }] });
      const history = async (chat: { readonly id: string }, of = mine) => {
        await of.switchTo(chat.id, "q");
        const texts = [await textsIn(of, chat.id)];
        await of.switchTo(chat.id, "q2");
        texts.push(await textsIn(of, chat.id));
        await of.switchTo(chat.id, "r");
        return [...texts, await textsIn(of, chat.id)];
      };
      const all = [["q", "a", "r2"], ["q", "a", "q2"], ["r"]];
      const imported = await mine.import(data, { operationId: "import" });
      expect(imported.siblings).toEqual([{ behind: null, ids: ["q", "r"], active: "r" }]);
      expect(await mine.import(data, { operationId: "import" })).toEqual(imported);
      expect(await history(imported)).toEqual(all);
      const fork = await mine.fork("c");
      expect(fork).not.toHaveProperty("siblings");
      const to = `${owner}-new`;
      await chats.move("c", { from: owner, to });
      expect(await history({ id: "c" }, chats.of(to))).toEqual(all);
      await chats.flush();
      expect(await isStored(stores, `chats:chat:${owner}:c"`)).toBe(false);
      for (const [wrong, text] of [
        [{ ...data, continuations: [{ ...data.continuations[0], in: "x" }] }, /in must/],
        [{ ...data, continuations: [{ ...data.continuations[0], behind: "x" }] }, /behind must/],
        [{ ...data, continuations: [{ ...data.continuations[0], entries: [] }] }, /entries/],
        [{ ...data, continuations: [data.continuations[0], data.continuations[0]] }, /id must be new/],
        [{ ...data, continuations: {} }, /array/],
        [
          { ...data, continuations: [data.continuations[0], { ...data.continuations[1], behind: null }] },
          /behind must/,
        ],
        [{ ...data, continuations: [{ ...data.continuations[0], entries: data.entries }] }, /begin with/],
        [{ ...data, version: 1 }, /version/],
      ] as const)
        await expect(mine.import(wrong)).rejects.toMatchObject(storeError("INVALID_STATE", text));
    },
  },
  {
    title: "siblings: a new message with the id of one is refused, so that an id names one sibling",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue("q", "a") });
      await mine.edit("c", "q", message("r"), keep);
      const refused = [
        () => mine.append("c", [message("q")]),
        () => mine.upsert("c", message("q")),
        () => mine.edit("c", "r", message("q"), keep),
        () => mine.begin("c", { append: [message("q")] }),
        () => mine.begin("c", {}, { messageId: "q" }),
      ];
      for (const call of refused) await expect(call()).rejects.toMatchObject(storeError("CONFLICT", /id/));
      expect(await textsIn(mine, "c")).toEqual(["r"]);
    },
  },
  {
    title: "siblings: an edit of the first message drops single branches past the bounds, not the chat",
    async run({ connect, owner }) {
      const mine = connect({ maxSiblingBytes: 2_000 }).of(owner);
      await mine.create({ id: "c", messages: dialogue("q", "a0") });
      for (let index = 1; index <= 8; index++) {
        await mine.dropAnswer("c", undefined, keep);
        await mine.append("c", [message(`a${index}`, "assistant")]);
        await sleep(2);
      }
      await mine.edit("c", "q", message("r"), keep);
      await mine.edit("c", "r", message("s"), keep);
      expect(await mine.siblings("c", "s")).toMatchObject({ ids: ["q", "r", "s"] });
      await mine.switchTo("c", "q");
      expect(await textsIn(mine, "c")).toEqual(["q", "a8"]);
    },
  },
  {
    title: "siblings: a switch closes the answer of a lost run that stays on the path",
    async run({ mine, connect, owner }) {
      const dying = connect({ now: () => Date.now() - 3_600_000 }).of(owner);
      const run = await dying.begin("c", { append: [message("q")] }, { messageId: "a" });
      run.update(message("a", "assistant", "half"));
      await run.save();
      await mine.append("c", [message("q2")]);
      await mine.edit("c", "q2", message("q3"), keep);
      await mine.switchTo("c", "q2");
      const page = await mine.read("c");
      expect(page?.entries.map(({ status }) => status)).toEqual(["complete", "failed", "complete"]);
      expect(page?.chat).not.toHaveProperty("run");
      await run.end({ status: "stopped" }).catch(() => undefined);
    },
  },
  {
    title: "siblings: repeated calls and two writers keep each message once",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c", messages: dialogue("q", "a") });
      const edit = (of = mine) => of.edit("c", "q", message("q2"), { ...keep, operationId: "op" });
      const chat = await edit();
      expect(await edit(connect().of(owner))).toEqual(chat);
      const tabs = ["x", "y"].map((id) =>
        connect()
          .of(owner)
          .edit("c", "q2", message(id), { ...keep, after: "q2" }),
      );
      const outcomes = await Promise.allSettled(tabs);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const [group] = (await mine.get("c"))?.siblings ?? [];
      expect(group?.ids).toHaveLength(3);
    },
  },
];
