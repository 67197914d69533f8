/** A store in memory, on whatever runs it. Returns what was read. */
import { createMemoryStores, jsonCodec, openStores, StoreError } from "@scrollback/store-core";
import { anthropicTraits } from "@scrollback/store-core/anthropic";
import { PendingCalls, SortKey } from "@scrollback/store-core/driver";
import { openaiTraits } from "@scrollback/store-core/openai";

/** What a message may have. */
export const values = {
  when: new Date(0),
  never: new Date(Number.NaN),
  map: new Map([["a", new Set([1n])]]),
  bytes: new Uint8Array([0, 127, 128, 255]),
  url: new URL("https://example.com/a"),
  pattern: /a+/gi,
  error: new TypeError("no", { cause: new Error("why") }),
  lone: "\ud800",
  ["__proto__"]: -0,
};

export async function useStore(): Promise<unknown> {
  const stores = createMemoryStores({ maxMessages: 600 });
  const store = stores.open();
  const hello = { role: "user", content: "Grüße, 🚋" } as const;
  const first = await store.addMessages([hello], { operationId: "op" });
  const again = await store.addMessages([hello], { operationId: "op" });
  await store.addMessages([{ role: "assistant", content: "", metadata: values }]);
  const [, read] = await store.listMessages();
  await stores.copyThread(store.threadId, "copy");
  await store.addMessages(Array.from({ length: 700 }, () => hello));
  await stores.copyThread(store.threadId, "long copy");
  const page = await store.read({ limit: 2 });
  const older = await store.read({ limit: 2, before: page.older ?? "" });
  const index = stores.index("titles");
  for (const [order, key] of ["b", "ä", "a"].entries())
    await index.insert({ key, id: "1" }, { version: 0, order, value: key });
  const listed = await index.list({ direction: "down" });
  const refused: unknown[] = [];
  for (const attempt of [
    () => store.addMessages([{ role: "user", content: "", metadata: { run: () => 1 } }]),
    () =>
      store.addMessages([
        { role: "user", content: "", metadata: Object.assign(new Uint8Array(2), { a: 1 }) },
      ]),
    () => store.read({ before: "no cursor" }),
    () => store.addMessages([hello], { signal: AbortSignal.abort() }),
    () => openStores("redis://localhost"),
  ])
    await attempt().catch((error) => refused.push(StoreError.is(error) ? error.code : error));
  const calls = new PendingCalls();
  await calls.close(() => new Promise(() => undefined));
  await stores.close();
  return {
    ...{ isUuid: /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(store.threadId) },
    ...{ isRepeated: first === again, read: jsonCodec.encode(read), refused },
    sequences: [...older.entries, ...page.entries].map(({ sequence }) => sequence),
    listed: listed.entries.map(({ key }) => key),
    sorted: SortKey.orderOf(SortKey.of({ order: -1.5, key: "k", id: "i" })),
    roles: [openaiTraits, anthropicTraits].map((traits) => traits.role({ role: "user", content: "" })),
  };
}
