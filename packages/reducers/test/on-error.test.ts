import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores } from "@scrollback/store-core";
import { expect, test, vi } from "vitest";
import { withReducer } from "../src/index.ts";

test.each<[string, () => unknown]>([
  [
    "throws",
    () => {
      throw new Error("boom");
    },
  ],
  ["rejects late", () => sleep(1).then(() => Promise.reject(new Error("boom")))],
])("an onError that %s neither rejects the write nor ends the process", async (_, onError) => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const reducer = { reduce: () => Promise.reject(new Error("no model")) };
  const store = createMemoryStores().open("c");
  const reduced = withReducer(store, reducer, { when: "afterAdd", onError: () => onError() as undefined });
  await reduced.addMessages([{ role: "user", content: "q" }]);
  expect(await store.listMessages()).toHaveLength(1);
  await expect.poll(() => warned.mock.calls.map(([warning]) => warning)).toEqual(["onError: boom"]);
  warned.mockRestore();
});
