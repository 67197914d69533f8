import { setImmediate as later } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import type { DocumentDatabase } from "../src/database.ts";
import { DocumentDriver, MemoryDocuments } from "../src/index.ts";
import { gated } from "./harness.ts";

const user = (content: string) => ({ role: "user", content }) as const;

/** A process whose swap of this number is sent only when `release` is called. */
function delayed(memory: DocumentDatabase, number = 1) {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let swaps = 0;
  const database = gated(memory, async (verb) => {
    if (verb !== "swap") return;
    swaps += 1;
    if (swaps !== number) return;
    reached.resolve();
    await released.promise;
  });
  return {
    store: createStores(new DocumentDriver(database)),
    reached: reached.promise,
    release: released.resolve,
  };
}

for (const [name, write] of [
  ["append", (store, signal) => store.open("t").addMessages([user("late")], { signal })],
  ["clear", (store, signal) => store.open("t").clear({ signal })],
  ["deletion", (store, signal) => store.deleteThread("t", { signal })],
] satisfies [string, (store: ReturnType<typeof createStores>, signal: AbortSignal) => Promise<unknown>][])
  test(`C2 an aborted ${name} that loses its swap is not planned anew`, async () => {
    const memory = new MemoryDocuments();
    const other = createStores(new DocumentDriver(memory));
    await other.open("t").addMessages([user("first")]);
    const { store, reached, release } = delayed(memory);
    const aborted = new AbortController();
    const written = write(store, aborted.signal);
    await reached;
    aborted.abort();
    await expect(written).rejects.toMatchObject({ code: "ABORTED" });
    await other.open("t").addMessages([user("acknowledged")]);
    release();
    await store.open("t").addMessages([user("after")]);
    // The aborted call may go on behind it: its requests in memory are done after some turns of the event loop.
    for (let turn = 0; turn < 50; turn++) await later();
    const texts = (await other.open("t").listMessages()).map(({ content }) => content);
    expect(texts).toEqual(["first", "acknowledged", "after"]);
  });

test("C2 an aborted append does not take those with it that share its swap", async () => {
  const memory = new MemoryDocuments();
  const other = createStores(new DocumentDriver(memory));
  await other.open("t").addMessages([user("first")]);
  const { store, reached, release } = delayed(memory, 2);
  const aborted = new AbortController();
  const thread = store.open("t");
  const alone = thread.addMessages([user("alone")]);
  const late = thread.addMessages([user("late")], { signal: aborted.signal });
  const shared = thread.addMessages([user("shared")]);
  await reached;
  await other.open("t").addMessages([user("acknowledged")]);
  aborted.abort();
  await expect(late).rejects.toMatchObject({ code: "ABORTED" });
  release();
  await Promise.all([alone, shared]);
  const texts = (await thread.listMessages()).map(({ content }) => content);
  expect(texts).toEqual(["first", "alone", "acknowledged", "shared"]);
});
