import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { ContractMessage, ContractTest } from "./contract.ts";
import { message, storeError, textsIn } from "./values.ts";

const answer = (text: string, id = "a"): ContractMessage => message(id, "assistant", text);
/** A clock that is so far ahead that every lease has expired. */
const later = { now: () => Date.now() + 60_000 };

export const leasing: readonly ContractTest[] = [
  {
    title: "a lost run is shown as lost, and the next run replaces it and closes its saved answer",
    async run({ mine, connect, owner }) {
      const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
      run.update(answer("half"));
      await run.save();
      const theirs = connect(later).of(owner);
      expect((await theirs.get("c"))?.run).toMatchObject({ id: run.id, state: "lost" });
      expect((await theirs.list()).chats[0]?.run).toMatchObject({ id: run.id, state: "lost" });
      expect(await theirs.stop("c")).toBe(false);
      const copies = [await theirs.fork("c"), await theirs.import(await theirs.export("c"))];
      for (const { id } of copies)
        expect((await theirs.read(id))?.entries.at(-1)).toMatchObject({
          message: answer("half"),
          status: "failed",
          error: expect.stringMatching(/lost/),
        });
      const next = await theirs.begin("c", {});
      expect(next.entries.at(-1)).toMatchObject({
        message: answer("half"),
        status: "failed",
        error: expect.stringMatching(/lost/),
      });
      await expect(run.end({ message: answer("late"), status: "complete" })).rejects.toMatchObject(
        storeError("CONFLICT"),
      );
      await next.end({ status: "stopped" });
      expect(await textsIn(mine, "c")).toEqual(["q", "half"]);
    },
  },
  {
    title: "leases: every process uses the lease of the process that makes the answer",
    async run({ mine, connect, owner }) {
      const long = await connect({ leaseMs: 600_000 })
        .of(owner)
        .begin("long", { append: [message("q")] });
      const theirs = connect({ leaseMs: 3, beatMs: 1 }).of(owner);
      await sleep(20);
      expect((await theirs.get("long"))?.run?.state).toBe("running");
      expect((await theirs.list()).chats[0]?.run?.state).toBe("running");
      const refused = theirs.begin("long", { append: [message("q2")] });
      await expect(refused).rejects.toMatchObject(storeError("CONFLICT", /under way/));
      await long.end({ status: "stopped" });
      // Its clock stands still, so it gives no sign of life.
      const now = Date.now();
      const frozen = connect({ leaseMs: 3, beatMs: 1, now: () => now }).of(owner);
      await frozen.begin("short", { append: [message("q")] });
      await sleep(20);
      expect((await mine.get("short"))?.run?.state).toBe("lost");
      await (await mine.begin("short", {})).end({ status: "stopped" });
    },
  },
  {
    title: "leases: a clock that is far ahead or behind locks no chat",
    async run({ mine, connect, owner }) {
      for (const skew of [3_600_000, -3_600_000]) {
        const there = connect({ now: () => Date.now() + skew }).of(owner);
        const run = await there.begin("c", { append: [message("q")] }, { messageId: "a" });
        expect((await there.get("c"))?.run?.state).toBe("running");
        expect((await mine.get("c"))?.run?.state).toBe("lost");
        expect((await mine.list()).chats[0]?.run?.state).toBe("lost");
        expect(await mine.stop("c")).toBe(false);
        await (await mine.begin("c", {})).end({ status: "stopped" });
        const late = run.end({ message: answer("late"), status: "complete" });
        await expect(late).rejects.toMatchObject(storeError("CONFLICT"));
        await mine.delete("c");
      }
    },
  },
];
