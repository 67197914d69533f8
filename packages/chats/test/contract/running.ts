import { expect } from "vitest";
import type { ContractMessage, ContractTest } from "./contract.ts";
import { dialogue, listedIds, message, storeError, textsIn } from "./values.ts";

const answer = (text: string, id = "a"): ContractMessage => message(id, "assistant", text);
const quick = { beatMs: 30, leaseMs: 10_000 };
export const running: readonly ContractTest[] = [
  {
    title: "begin, end: the change and the lease are one write, the answer and the end of the lease another",
    async run({ mine, connect, owner }) {
      const run = await mine.begin(
        "c",
        { append: [message("q")] },
        { after: null, messageId: "a", runId: "r" },
      );
      expect(run).toMatchObject({ id: "r", messageId: "a", chat: { id: "c", messageCount: 1 } });
      expect(run.entries).toMatchObject([{ message: { id: "q" }, status: "complete" }]);
      expect(run.signal.aborted).toBe(false);
      const theirs = connect().of(owner);
      const summary = { id: "r", messageId: "a", startedAt: run.chat.run?.startedAt, state: "running" };
      expect((await theirs.get("c"))?.run).toEqual(summary);
      expect((await theirs.list()).chats[0]?.run).toEqual(summary);
      await run.end({ message: answer("done"), status: "complete" });
      await run.end({ message: answer("again"), status: "failed" });
      const page = await theirs.read("c");
      expect(page?.entries.at(-1)).toMatchObject({ message: answer("done"), status: "complete" });
      expect(page?.chat).not.toHaveProperty("run");
      expect(page?.chat).toMatchObject({ messageCount: 2, lastMessage: { id: "a", text: "done" } });
      expect((await theirs.list()).chats[0]).not.toHaveProperty("run");
    },
  },
  {
    title: "begin: keeps messages, appends others, continues an answer, or changes nothing",
    async run({ mine }) {
      await mine.create({ id: "c", messages: dialogue("q", "a", "q2", "a2") });
      const end = async (run: Awaited<ReturnType<typeof mine.begin>>, text: string) => {
        await run.end({
          message: { id: run.messageId, role: "assistant", content: text },
          status: "complete",
        });
        return await textsIn(mine, "c");
      };
      const dropped = await mine.begin("c", { keep: 3 });
      expect(await end(dropped, "a2b")).toEqual(["q", "a", "q2", "a2b"]);
      const before = (await mine.read("c"))?.entries ?? [];
      const edited = await mine.begin(
        "c",
        { keep: 2, append: [message("q2", "user", "q2c")] },
        { after: dropped.messageId },
      );
      expect(edited.entries[2]).toMatchObject({ createdAt: before[2]?.createdAt });
      expect(await end(edited, "a2c")).toEqual(["q", "a", "q2c", "a2c"]);
      const continued = await mine.begin("c", (entries) => ({
        keep: 1,
        append: [answer("a approved"), ...entries.slice(2).map(({ message }) => message)],
        continues: "a",
      }));
      expect(continued.messageId).toBe("a");
      expect(continued.entries[1]?.message.content).toBe("a approved");
      expect(await end(continued, "a went on")).toEqual(["q", "a went on", "q2c", "a2c"]);
      expect(await end(await mine.begin("c", {}), "more")).toEqual(["q", "a went on", "q2c", "a2c", "more"]);
      for (const continues of ["x", "q"]) {
        const missing = mine.begin("c", { continues });
        await expect(missing).rejects.toMatchObject(storeError("NOT_FOUND", /continues/));
      }
      await expect(mine.begin("none", {})).rejects.toMatchObject(storeError("NOT_FOUND"));
      await expect(mine.begin("c", {}, { after: "q" })).rejects.toMatchObject(
        storeError("CONFLICT", /last message/),
      );
    },
  },
  {
    title:
      "begin: an answer that a run continues is partial until the run ends, also in copies and if the run is lost",
    async run({ mine, connect, owner }) {
      const first = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
      await first.end({ message: answer("half"), status: "failed", error: "no reply" });
      const end = async (chatId = "c") => (await mine.read(chatId))?.entries.at(-1);
      const run = await mine.begin("c", { continues: "a" });
      expect(await end()).toMatchObject({ message: answer("half"), status: "partial" });
      for (const { id } of [await mine.fork("c"), await mine.import(await mine.export("c"))])
        expect(await end(id)).toMatchObject({ status: "stopped" });
      await run.end({ status: "failed", error: "refused" });
      expect(await end()).toMatchObject({ status: "failed", error: "refused" });
      const second = await mine.begin("c", { continues: "a" });
      const next = await connect()
        .of(owner)
        .begin("c", { append: [message("q2")] }, { whileRunning: "stop" });
      expect(next.entries.at(-2)).toMatchObject({ status: "stopped" });
      await expect(second.end({ status: "complete" })).rejects.toMatchObject(storeError("CONFLICT"));
      await next.end({ status: "stopped" });
    },
  },
  {
    title: "whileRunning: a call that is refused stops no run",
    async run({ mine, connect, owner }) {
      const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
      const theirs = connect().of(owner);
      const refused = [
        () => theirs.begin("c", { append: [message("q", "user", "other")] }, { whileRunning: "stop" }),
        () => theirs.begin("c", { continues: "unknown" }, { whileRunning: "stop" }),
        () => theirs.begin("c", { append: [message("q2")] }, { whileRunning: "stop", messageId: "q" }),
        () =>
          theirs.begin(
            "c",
            () => {
              throw new Error("no");
            },
            { whileRunning: "stop" },
          ),
      ];
      for (const call of refused) await expect(call()).rejects.toThrow();
      await run.save();
      expect(run.signal.aborted).toBe(false);
      await run.end({ message: answer("whole"), status: "complete" });
      expect(await textsIn(mine, "c")).toEqual(["q", "whole"]);
    },
  },
  {
    title:
      "begin: one of several concurrent calls gets the run, the others fail with CONFLICT and write nothing",
    async run({ mine, connect, owner }) {
      await mine.create({ id: "c" });
      const begun = await Promise.allSettled(
        ["x", "y", "z"].map((id) =>
          connect()
            .of(owner)
            .begin("c", { append: [message(id)] }),
        ),
      );
      const won = begun.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      expect(won).toHaveLength(1);
      for (const one of begun) {
        if (one.status === "rejected") expect(one.reason).toMatchObject(storeError("CONFLICT", /under way/));
      }
      expect(await textsIn(mine, "c")).toHaveLength(1);
      await won[0]?.end({ status: "stopped" });
      expect(await textsIn(mine, "c")).toHaveLength(1);
    },
  },
  {
    title: "begin: takes effect once under one operation id; the same process gets the same run",
    async run({ mine, connect, owner }) {
      const options = { operationId: "op", messageId: "a" };
      const run = await mine.begin("c", { append: [message("q")] }, options);
      expect(await mine.begin("c", { append: [message("q")] }, options)).toBe(run);
      const theirs = connect()
        .of(owner)
        .begin("c", { append: [message("q")] }, options);
      await expect(theirs).rejects.toMatchObject(storeError("CONFLICT", /operationId/));
      await run.end({ message: answer("done"), status: "complete" });
      const late = mine.begin("c", { append: [message("q")] }, options);
      await expect(late).rejects.toMatchObject(storeError("CONFLICT", /operationId/));
      expect(await textsIn(mine, "c")).toEqual(["q", "done"]);
    },
  },
  {
    title: "begin: a repeated call fails with CONFLICT while the run of another operation is active",
    async run({ mine }) {
      const begin = async (id: string) =>
        await mine.begin("c", { append: [message(id)] }, { operationId: `op-${id}` });
      await (await begin("q")).end({ status: "stopped" });
      const second = await begin("q2");
      await expect(begin("q")).rejects.toMatchObject(storeError("CONFLICT", /operationId/));
      expect(await begin("q2")).toBe(second);
      await second.end({ message: answer("two"), status: "complete" });
      expect(await textsIn(mine, "c")).toEqual(["q", "q2", "two"]);
    },
  },
  {
    title: "beats: save the partial answer during other writes",
    async run({ mine, connect, owner }) {
      const chats = connect(quick);
      const run = await chats.of(owner).begin("c", { append: [message("q")] }, { messageId: "a" });
      run.update(answer("one"));
      await expect
        .poll(async () => (await mine.read("c"))?.entries.at(-1))
        .toMatchObject({
          message: answer("one"),
          status: "partial",
        });
      await mine.update("c", { title: "Renamed" });
      await mine.append("c", [message("meanwhile")]);
      run.update(answer("one two"));
      await expect.poll(() => textsIn(mine, "c")).toEqual(["q", "one two", "meanwhile"]);
      run.update(answer("one two three"));
      await run.save();
      expect(await textsIn(mine, "c")).toEqual(["q", "one two three", "meanwhile"]);
      await run.end({ message: answer("all"), status: "complete" });
      expect(await textsIn(mine, "c")).toEqual(["q", "all", "meanwhile"]);
      expect(await mine.get("c")).toMatchObject({ title: "Renamed", messageCount: 3 });
    },
  },
  {
    title: "stop: aborts the run in any process, and the partial answer is saved as stopped",
    async run({ mine, connect, owner }) {
      expect(await mine.stop("c")).toBe(false);
      const closeAnswer = (one: ContractMessage) => ({ ...one, content: `${one.content} (closed)` });
      const there = connect({ ...quick, closeAnswer }).of(owner);
      const run = await there.begin("c", { append: [message("q")] }, { messageId: "a" });
      run.update(answer("half"));
      expect(await mine.stop("c", "other")).toBe(false);
      expect(await mine.stop("c", run.id)).toBe(true);
      await expect.poll(() => run.signal.aborted).toBe(true);
      expect(run.signal.reason).toMatchObject({ ...storeError("ABORTED"), cause: "stopped" });
      await run.end({ status: "stopped" });
      expect((await mine.read("c"))?.entries.at(-1)).toMatchObject({
        message: answer("half (closed)"),
        status: "stopped",
      });
      expect(await mine.stop("c")).toBe(false);
      const empty = await there.begin("c", {});
      expect(await there.stop("c")).toBe(true);
      expect(empty.signal.aborted).toBe(true);
      await empty.end({
        message: { id: empty.messageId, role: "assistant", content: "" },
        status: "stopped",
      });
      expect(await textsIn(mine, "c")).toEqual(["q", "half (closed)"]);
    },
  },
  {
    title: "whileRunning: stop ends the current run, or fences it off after a second",
    async run({ mine, connect, owner }) {
      const there = connect(quick).of(owner);
      const first = await there.begin("c", { append: [message("q")] }, { messageId: "a" });
      first.signal.addEventListener(
        "abort",
        () => void first.end({ message: answer("half"), status: "stopped" }),
      );
      const decided: unknown[] = [];
      const second = await mine.begin(
        "c",
        (entries, stopped) => {
          decided.push([entries.at(-1)?.status, stopped]);
          return { append: [message("q2")] };
        },
        { whileRunning: "stop", messageId: "a2" },
      );
      expect(decided.at(-1)).toEqual(["stopped", "a"]);
      expect(await textsIn(mine, "c")).toEqual(["q", "half", "q2"]);
      second.update(answer("deaf", "a2"));
      await second.save();
      const third = await connect()
        .of(owner)
        .begin("c", { append: [message("q3")] }, { whileRunning: "stop" });
      const page = await mine.read("c");
      expect(page?.entries.map((entry) => entry.status)).toEqual([
        "complete",
        "stopped",
        "complete",
        "stopped",
        "complete",
      ]);
      expect(page?.chat.run?.id).toBe(third.id);
      second.update(answer("too late", "a2"));
      await expect(second.save()).rejects.toMatchObject(storeError("CONFLICT"));
      expect(second.signal.reason).toMatchObject({ cause: "taken-over" });
      const late = second.end({ message: answer("too late", "a2"), status: "complete" });
      await expect(late).rejects.toMatchObject(storeError("CONFLICT"));
      expect(await mine.read("c")).toEqual(page);
      await third.end({ status: "failed", error: "no model" });
    },
  },
  {
    title: "whileRunning: stop with an operation id makes the change once, and a repeated call gets its run",
    async run({ mine, connect, owner }) {
      const first = await connect(quick)
        .of(owner)
        .begin("c", { append: [message("q")] });
      first.signal.addEventListener("abort", () => void first.end({ status: "stopped" }));
      const begin = async (id: string) =>
        await mine.begin("c", { append: [message(id)] }, { whileRunning: "stop", operationId: `op-${id}` });
      const second = await begin("q2");
      expect(await textsIn(mine, "c")).toEqual(["q", "q2"]);
      expect(await begin("q2")).toBe(second);
      // The second run does not end within a second.
      const third = await begin("q3");
      expect(third).not.toBe(second);
      expect(second.signal.reason).toMatchObject({ cause: "stopped" });
      expect(await begin("q3")).toBe(third);
      expect((await mine.get("c"))?.run?.id).toBe(third.id);
      await third.end({ status: "stopped" });
      expect(await textsIn(mine, "c")).toEqual(["q", "q2", "q3"]);
    },
  },
  {
    title: "delete, and an edit that drops the answer, abort the run, which writes nothing afterwards",
    async run({ mine, connect, owner }) {
      const there = connect(quick).of(owner);
      const edited = await there.begin("c", { append: [message("q")] }, { messageId: "a" });
      edited.update(answer("half"));
      await edited.save();
      await mine.edit("c", "q", message("q", "user", "new"));
      edited.update(answer("more"));
      await expect.poll(() => edited.signal.aborted).toBe(true);
      expect(edited.signal.reason).toMatchObject({ cause: "removed" });
      await edited.end({ message: answer("more"), status: "stopped" });
      expect(await textsIn(mine, "c")).toEqual(["new"]);
      expect(await mine.get("c")).not.toHaveProperty("run");
      const run = await there.begin("c", {});
      await mine.delete("c");
      await expect.poll(() => run.signal.aborted).toBe(true);
      expect(run.signal.reason).toMatchObject({ cause: "deleted" });
      await expect(
        run.end({ message: answer("x", run.messageId), status: "complete" }),
      ).rejects.toMatchObject(storeError("NOT_FOUND"));
      expect(await mine.get("c")).toBeUndefined();
      expect(await listedIds(mine)).toEqual([]);
    },
  },
];
