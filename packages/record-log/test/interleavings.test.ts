import type { MessageStore } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { addEach, contentsOf, DAY, THREAD, uniformScene, user } from "./scenes.ts";

interface Meanwhile {
  readonly ttlMs?: number;
  /** The keys of the late row and of the next one were deleted, so the outcome of the commit is unknown. */
  readonly isUnknown?: true;
  /** Returns the messages of the thread afterwards. */
  play(store: MessageStore, wait: (ms: number) => void): Promise<string[]>;
}

/** The events while a writer was paused between its read of the end and its insert. */
const meanwhile: Readonly<Record<string, Meanwhile>> = {
  "others wrote": {
    play: async (store) => {
      await addEach(store, 3, "other");
      return ["before", "other0", "other1", "other2"];
    },
  },
  "others wrote, cleared and wrote until all keys it knew were deleted": {
    isUnknown: true,
    play: async (store, wait) => {
      await addEach(store, 80, "gone");
      await store.clear();
      await addEach(store, 130, "other");
      wait(3 * DAY);
      await addEach(store, 70, "more");
      wait(3 * DAY);
      return [
        ...Array.from({ length: 130 }, (_, i) => `other${i}`),
        ...Array.from({ length: 70 }, (_, i) => `more${i}`),
      ];
    },
  },
  "the thread expired and was swept": {
    ttlMs: 1_000,
    play: async (_, wait) => {
      wait(30 * DAY);
      return [];
    },
  },
  "the thread expired, was swept, and began anew": {
    ttlMs: DAY,
    play: async (store, wait) => {
      await addEach(store, 70, "gone");
      wait(30 * DAY);
      await addEach(store, 5, "new");
      return ["new0", "new1", "new2", "new3", "new4"];
    },
  },
};

for (const [name, { ttlMs, isUnknown, play }] of Object.entries(meanwhile)) {
  const options = ttlMs === undefined ? {} : { ttlMs };

  test(`a late writer loses nothing and hides nothing: ${name}`, async () => {
    const { open, wait } = uniformScene(options);
    const [late, other] = [open(), open()];
    await late.store.addMessages([user("before")]);
    let expected: string[] = [];
    late.log.before = async ({ verb }) => {
      if (verb !== "insert") return;
      late.log.before = async () => undefined;
      expected = await play(other.store, wait);
    };
    const commit = late.store.addMessages([user("late")]);
    if (isUnknown) {
      await expect(commit).rejects.toMatchObject({
        code: "UNAVAILABLE",
        retryable: false,
        message: expect.stringContaining("outcome is unknown"),
      });
    } else await commit;
    const all = isUnknown ? expected : [...expected, "late"];
    expect(await contentsOf(other.store)).toEqual(all);
    expect(await contentsOf(open().store)).toEqual(all);
    await other.store.addMessages([user("after")]);
    expect(await contentsOf(late.store)).toEqual([...all, "after"]);
  });

  test(`a late writer that dies right after its insert hides nothing: ${name}`, async () => {
    const { open, wait } = uniformScene(options);
    const [late, other] = [open(), open()];
    await late.store.addMessages([user("before")]);
    let expected: string[] = [];
    late.log.before = async ({ verb }) => {
      if (verb !== "insert") return;
      late.log.before = async () => {
        throw new Error("dead");
      };
      expected = await play(other.store, wait);
    };
    late.log.after = () => Promise.reject(new Error("dead"));
    await expect(late.store.addMessages([user("late")])).rejects.toThrow();
    const found = await contentsOf(other.store);
    expect([expected, [...expected, "late"]]).toContainEqual(found);
    await addEach(other.store, 600, "after");
    expect(await contentsOf(open().store)).toEqual([
      ...found,
      ...Array.from({ length: 600 }, (_, i) => `after${i}`),
    ]);
  });
}

test("a commit whose reply arrives days later keeps its message, which others have read meanwhile", async () => {
  const { open, wait } = uniformScene();
  const [late, other] = [open(), open()];
  await other.store.addMessages([user("before")]);
  const held = Promise.withResolvers<void>();
  const isInserted = Promise.withResolvers<void>();
  late.log.after = async ({ verb }) => {
    if (verb !== "insert") return;
    late.log.after = async () => undefined;
    isInserted.resolve();
    await held.promise;
  };
  const commit = late.store.addMessages([user("late")]).catch((error: unknown) => {
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
  });
  await isInserted.promise;
  // The row after the late one has no content, so its key is freed and deleted.
  await other.store.commit({ metadata: null });
  await addEach(other.store, 200, "other");
  wait(3 * DAY);
  const all = ["before", "late", ...Array.from({ length: 200 }, (_, i) => `other${i}`)];
  expect(await contentsOf(other.store)).toEqual(all);
  held.resolve();
  await commit;
  expect(await contentsOf(other.store)).toEqual(all);
  expect(await contentsOf(open().store)).toEqual(all);
});

test("a commit that dies between any two requests is whole or absent, and later commits blank its remains", async () => {
  const big = (mark: string) => [
    user(`${mark}${"x".repeat(150_000)}`),
    user(`${mark} small`),
    user(mark.repeat(60_000)),
  ];
  for (let point = 1; ; point++) {
    for (const when of ["before", "after"] as const) {
      const { log, open } = uniformScene({ maxRowBytes: 64 * 1024 });
      const [dying, other] = [open(), open()];
      await other.store.addMessages([user("old")]);
      dying.log[when] = async (request) => {
        if (dying.log.requests.indexOf(request) + 1 >= point) throw new Error("dead");
      };
      const died = await dying.store.replaceMessages(big("L")).then(
        () => false,
        () => true,
      );
      const found = (await contentsOf(other.store)).map((content) => content.slice(0, 7));
      expect([["old"], ["Lxxxxxx", "L small", "LLLLLLL"]]).toContainEqual(found);
      if (!died) expect(found).toHaveLength(3);
      await other.store.clear();
      await addEach(other.store, 130, "after");
      const stored = log.rowsOf(THREAD).flatMap((row) => row.texts);
      expect(stored.filter((text) => text.includes("xxx") || text.includes("LLL"))).toEqual([]);
      expect(stored.join("")).not.toContain("old");
      if (!died && when === "after") return;
    }
  }
});

test("a commit whose fragments are freed while it is paused inserts them again", async () => {
  const { open } = uniformScene({ maxRowBytes: 64 * 1024 });
  const [slow, other] = [open(), open()];
  await other.store.addMessages([user("old")]);
  let inserts = 0;
  slow.log.before = async ({ verb }) => {
    if (verb === "insert" && ++inserts === 4) await addEach(other.store, 200, "other");
  };
  await slow.store.addMessages([user("y".repeat(150_000))]);
  const found = await contentsOf(open().store);
  expect(found).toHaveLength(202);
  expect(found.at(-1)).toBe("y".repeat(150_000));
  await addEach(other.store, 100, "more");
  expect((await contentsOf(open().store))[201]).toBe("y".repeat(150_000));
});

test("a read returns one revision, also if a concurrent commit removes rows before they are read", async () => {
  const { open } = uniformScene();
  const [reader, writer] = [open(), open()];
  await addEach(writer.store, 600, "m");
  reader.log.before = async (request) => {
    if (reader.log.requests.indexOf(request) === 1) await writer.store.replaceMessages([user("new")]);
  };
  expect(await contentsOf(reader.store)).toEqual(["new"]);
});

test("many writers lose no message and keep their batches whole", async () => {
  const { open } = uniformScene();
  const writers = Array.from({ length: 16 }, open);
  for (const { log } of writers)
    log.before = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
  await Promise.all(
    writers.map(async ({ store }, writer) => {
      for (let batch = 0; batch < 6; batch++) {
        await store.addMessages([user(`${writer}/${batch}/0`), user(`${writer}/${batch}/1`)]);
      }
    }),
  );
  const found = await contentsOf(open().store);
  expect(new Set(found).size).toBe(16 * 6 * 2);
  for (let at = 0; at < found.length; at += 2) {
    expect(found[at + 1]).toBe(String(found[at]).replace(/0$/, "1"));
  }
  for (let writer = 0; writer < 16; writer++) {
    const own = found.filter((content) => content.startsWith(`${writer}/`));
    expect(own).toEqual([...own].sort());
  }
}, 60_000);

test("a read finds the thread though its row of metadata is freed before the request beside it", async () => {
  const { open } = uniformScene({ maxMessages: 3 });
  const [reader, other] = [open(), open()];
  await reader.store.commit({ append: [user("a")], metadata: { title: "a" } });
  const [endIsRead, metadataIsRead] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The row of the metadata is also the end, so both requests return it.
  reader.log.before = async (request) => {
    if (request.verb !== "read" || request.limit > 1) return;
    reader.log.before = async () => undefined;
    await endIsRead.promise;
    await other.store.commit({ metadata: { title: "b" } });
    await addEach(other.store, 200, "b");
  };
  reader.log.after = async (request) => {
    if (request.verb !== "read") return;
    if (request.limit === 1) return metadataIsRead.resolve();
    endIsRead.resolve();
    await metadataIsRead.promise;
  };
  const before = reader.log.requests.length;
  // The metadata that it found the thread with is blank, so it reads once more.
  expect(await reader.store.read({ limit: 0 })).toMatchObject({ count: 3, metadata: { title: "b" } });
  expect(reader.log.requests.slice(before, before + 2)).toMatchObject([{ limit: 1 }, { limit: 2 }]);
});
