// Run by closing.server.test.ts: opens stores by URL, and closes them when it is told to, with a call under way.
import { openStores } from "@scrollback/store-core";

const stores = await openStores(process.argv[2] ?? "");
await stores.setup();
const add = () => stores.open().addMessages([{ role: "user", content: "Hello" }]);
// Several connections.
await Promise.all([add(), add(), add()]);
process.once("message", async () => {
  const call = add().catch(() => undefined);
  await stores.close();
  await call;
  process.disconnect();
});
process.send?.("ready");
