// Bundled by bundlers.deep.test.ts. Takes the URL of the stores.
import { openStores } from "@scrollback/store-core";

try {
  await using stores = await openStores(process.argv[2] ?? "");
  await stores.setup();
  const store = stores.open();
  await store.addMessages([{ role: "user", content: `Hello from ${stores.settings.backend}` }]);
  console.log((await store.listMessages()).map(({ content }) => content).join());
} catch (error) {
  console.log((error as Error).message);
}
