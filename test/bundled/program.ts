// Bundled by bundlers.deep.test.ts. With an argument it gives openStores the adapter.
import { openStores } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";

const options = process.argv[2] === "adapters" ? { adapters: { sqlite: createSqliteStores } } : {};
try {
  await using stores = await openStores("sqlite::memory:", options);
  const store = stores.open("chat-1");
  await store.addMessages([{ role: "user", content: "Hello from a bundle" }]);
  console.log((await store.listMessages()).map(({ content }) => content).join());
} catch (error) {
  console.log((error as Error).message);
}
