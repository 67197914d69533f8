import { expect, test } from "vitest";
import { Commits } from "../src/commit.ts";
import { HEAD } from "../src/item.ts";
import { listThreads } from "../src/list.ts";
import { readThread } from "../src/read.ts";
import { deleteThread } from "../src/remove.ts";
import type { Table } from "../src/table.ts";
import { requestOf } from "./commits.ts";
import { World } from "./explorer/world.ts";

const start = 1_800_000_000_000;
const many = (name: string, length: number) => Array.from({ length }, (_, index) => `${name}${index}`);
const deletion = { threadId: "a", operationId: "deletion", expectedRevision: undefined, signal: undefined };

async function inWorld<T>(run: (table: Table, world: World) => Promise<T>): Promise<T> {
  const world = new World(() => 0, {});
  const ended = run(world.tableOf(0), world);
  await world.run([ended.catch(() => undefined)]);
  return await ended;
}

async function textsOf(table: Table, now: number): Promise<string[]> {
  const all = { threadId: "a", limit: Infinity, before: undefined, after: undefined, metadata: false };
  const read = await readThread(
    table,
    { ...all, signal: undefined },
    () => now,
    () => undefined,
  );
  return read.entries.map(({ text }) => text);
}

test("a thread whose head DynamoDB has deleted before its rows begins again without them", async () => {
  await inWorld(async (table, world) => {
    const now = start + 9 * 24 * 3_600_000;
    for (const name of ["x", "y"])
      await new Commits(table, () => start).commit({ ...requestOf(name, many(name, 150)), ttlMs: 1_000 });
    world.items.delete(HEAD);
    await new Commits(table, () => now).commit(requestOf("again", many("new", 224)));
    expect(await textsOf(table, now)).toEqual(many("new", 224));
    expect([...world.items.values()].filter(({ text }) => /^[xy]/.test(text?.S ?? ""))).toEqual([]);
  });
});

test("a repeated request is refused when its first attempt may be forgotten", async () => {
  await inWorld(async (table) => {
    const commits = new Commits(table, () => start);
    const late = { sendBefore: performance.now() - 1 };
    const made = requestOf("made", ["a"]);
    await commits.commit(made);
    expect(await commits.commit({ ...made, ...late })).toMatchObject({ outcome: "repeated" });
    const unknown = { code: "UNAVAILABLE", retryable: true };
    await expect(commits.commit({ ...requestOf("other", ["b"]), ...late })).rejects.toMatchObject(unknown);
    const deleted = deleteThread(
      table,
      { ...deletion, ...late },
      () => start,
      () => undefined,
    );
    await expect(deleted).rejects.toMatchObject(unknown);
    expect(await textsOf(table, start)).toEqual(["a"]);
  });
});

test("C2 a call that was aborted is not planned anew after a refusal", async () => {
  await inWorld(async (table) => {
    await new Commits(table, () => start).commit(requestOf("made", ["a"]));
    const aborted = new AbortController();
    const late: Table = {
      ...table,
      swap: async (...request) => {
        if (!aborted.signal.aborted) {
          await new Commits(table, () => start).commit(requestOf("acknowledged", ["b"]));
          aborted.abort();
        }
        return await table.swap(...request);
      },
    };
    const { signal } = aborted;
    const commits = new Commits(late, () => start);
    const ended = await Promise.allSettled([
      commits.commit({ ...requestOf("clear", ["late"]), drop: "all", signal }),
      commits.commit(requestOf("next", ["c"])),
    ]);
    expect(ended.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    const deletes = deleteThread(
      late,
      { ...deletion, signal },
      () => start,
      () => undefined,
    );
    await expect(deletes).rejects.toBe(signal.reason);
    expect(await textsOf(table, start)).toEqual(["a", "b", "c"]);
  });
});

test("a commit is repeated after a deletion by a process whose clock is behind", async () => {
  await inWorld(async (table) => {
    const made = requestOf("made", ["a"]);
    await new Commits(table, () => start).commit(made);
    await deleteThread(
      table,
      deletion,
      () => start - 600_000,
      () => undefined,
    );
    const again = new Commits(table, () => start + 2_000).commit(made);
    expect(await again).toMatchObject({ outcome: "repeated" });
  });
});

test("rows without an expiry get it again, if the writer that removed it dies", async () => {
  await inWorld(async (table, world) => {
    for (const name of ["x", "y", "z"])
      await new Commits(table, () => start).commit({ ...requestOf(name, many(name, 70)), ttlMs: 3_600_000 });
    let sent = 0;
    const dying: Table = {
      ...table,
      swap: async (...request) => {
        if (++sent > 1) throw new Error("the process has died");
        return await table.swap(...request);
      },
    };
    await expect(new Commits(dying, () => start).commit(requestOf("dies", ["a"]))).rejects.toThrow("died");
    await new Commits(table, () => start).commit({ ...requestOf("next", ["b"]), ttlMs: 3_600_000 });
    expect([...world.items].filter(([, { x }]) => x === undefined)).toEqual([]);
  });
});

test("a thread that is deleted between the reads of a listing is not listed", async () => {
  await inWorld(async (table, world) => {
    await new Commits(table, () => start).commit({ ...requestOf("made", ["a"]), metadata: "{}" });
    let reads = 0;
    const lists: Parameters<typeof listThreads>[0] = {
      ...table,
      threadsOf: async ({ shard }) => ({ threads: shard === "0" ? ["a"] : [], isEnd: true }),
      getAll: async (keys) => {
        if (++reads === 2)
          await deleteThread(
            table,
            deletion,
            () => start,
            () => undefined,
          );
        return keys.map(({ item }) => world.items.get(item)).filter((item) => item !== undefined);
      },
    };
    const request = { prefix: "", limit: 10, cursor: undefined, signal: undefined };
    expect(await listThreads(lists, request, start)).toMatchObject({ threads: [] });
  });
});

test("a row that a query does not see yet is not removed with the one that it replaced", async () => {
  await inWorld(async (table, world) => {
    for (const name of ["x", "y", "z"])
      await new Commits(table, () => start).commit(requestOf(name, many(name, 80)));
    const before = new Map(world.items);
    let isDead = false;
    const dying: Table = {
      ...table,
      swap: async (...request) => {
        if (isDead) throw new Error("the process has died");
        isDead = true;
        return await table.swap(...request);
      },
    };
    const drops = { ...requestOf("drops", ["new"]), drop: 120 };
    await expect(new Commits(dying, () => start).commit(drops)).rejects.toThrow("died");
    let isOld = true;
    const late: Table = {
      ...table,
      query: async (range) => {
        const items = await table.query(range);
        if (!isOld || !range.from.startsWith("m#")) return items;
        isOld = false;
        return items.map((item) => before.get(item.item?.S ?? "") ?? item);
      },
    };
    await new Commits(late, () => start).commit(requestOf("next", ["next"]));
    expect((await textsOf(table, start)).slice(-3)).toEqual(["y39", "new", "next"]);
  });
});

test("a read waits for a row that a query does not see yet", async () => {
  await inWorld(async (table) => {
    await new Commits(table, () => start).commit(requestOf("made", ["a", "b"]));
    let isSeen = false;
    const late: Table = {
      ...table,
      query: async (range) => (await table.query(range)).filter(({ text }) => isSeen || text?.S !== "b"),
      clock: {
        monotonic: () => 0,
        sleep: async () => {
          isSeen = true;
        },
      },
    };
    expect(await textsOf(late, start)).toEqual(["a", "b"]);
  });
});
