import { openStores } from "@scrollback/store-core";

await using stores = await openStores("sqlite:chats.db", { maxMessages: 200 });
const store = stores.open();
await store.addMessages([
  { role: "user", content: "Which city has the Atomium?" },
  { role: "assistant", content: "Brussels." },
]);

// Plain JSON without messages or secrets: save it anywhere, and continue with it in any process.
const state = JSON.stringify(await store.serialize());
const resumed = stores.restore(JSON.parse(state));
for (const { role, content } of await resumed.listMessages()) console.log(`${role}: ${content}`);
