import type { MessageStore, StoreFactory } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const numbered = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => ({ role: "user" as const, content: `${name} ${index}` }));

/** Changes of a thread that is read meanwhile. */
const changes: [string, (stores: StoreFactory, store: MessageStore) => Promise<unknown>][] = [
  ["deleted", (stores) => stores.deleteThread("t")],
  [
    "deleted and begun again",
    async (stores, store) => {
      await stores.deleteThread("t");
      await store.addMessages(numbered(1_700, "new"));
    },
  ],
  ["cleared", (_, store) => store.clear()],
  ["replaced", (_, store) => store.replaceMessages(numbered(3, "new"))],
  [
    "trimmed",
    (stores) => stores.open("t", { maxMessages: 10, trimming: "exact" }).addMessages(numbered(1, "new")),
  ],
];

/** The stores of a factory in which reading a page changes the thread once. */
function changing(stores: StoreFactory, change: (typeof changes)[number][1]): StoreFactory<unknown> {
  let isChanged = false;
  return {
    ...stores,
    open(threadId: string) {
      const store = stores.open(threadId);
      return Object.assign(Object.create(store), {
        async read(options: object) {
          const page = await store.read(options);
          if (!("after" in options) || isChanged) return page;
          isChanged = true;
          await change(stores, store);
          return page;
        },
      });
    },
  } as StoreFactory<unknown>;
}

async function runOn(change: (typeof changes)[number][1], ...[command = "", ...options]: string[]) {
  using folder = new Folder();
  const stores = folder.stores();
  await stores.open("t").addMessages(numbered(1_700, "old"));
  const adapters = { changing: () => changing(stores, change) };
  return await run([command, "changing://t", ...options], { adapters });
}

test.each(changes)("export of a thread that is %s meanwhile is a skipped thread", async (_, change) => {
  const { code, stdout, stderr } = await runOn(change, "export");
  const lines = jsonLines(stdout);
  expect(lines.map(({ type }) => type)).not.toContain("end");
  expect(lines.at(-1)).toEqual({ type: "skip" });
  expect({ code, stderr }).toEqual({
    code: 5,
    stderr: expect.stringMatching(/^conflict: t: the source thread was /),
  });
});

test.each(changes)("verify does not call a thread that is %s meanwhile readable", async (_, change) => {
  const { code, stdout } = await runOn(change, "verify");
  expect({ code, stdout }).toEqual({ code: 5, stdout: expect.stringMatching(/^threads: 1 conflict/) });
});
