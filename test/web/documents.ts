/** A store on documents in memory, on whatever runs it. Returns what was read. */
import { DocumentDriver, MemoryDocuments } from "@scrollback/documents";
import { createStores } from "@scrollback/store-core/driver";

export async function useDocuments(): Promise<unknown> {
  // So small that a long message is cut into parts.
  const documents = new MemoryDocuments(64 * 1024);
  await using stores = createStores(new DocumentDriver(documents), { maxMessages: 200 });
  const store = stores.open("thread");
  const long = { role: "user", content: "Grüße, 🚋 ".repeat(20_000) } as const;
  const first = await store.addMessages([long], { operationId: "op" });
  const again = await store.addMessages([long], { operationId: "op" });
  const [read] = await store.listMessages();
  for (let commit = 0; commit < 300; commit++)
    await store.addMessages([{ role: "user", content: `message ${commit}` }]);
  const { count } = await store.read({ limit: 1 });
  return { isRepeated: first === again, isWhole: read?.content === long.content, count };
}
