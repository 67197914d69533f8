import { openStores } from "@scrollback/store-core";
import { chat } from "@tanstack/ai";
import { EchoModel } from "./echo-model.ts";
import { history } from "./history.ts";

// A chat of TanStack AI. Run it again: another process continues the chat.

await using stores = await openStores("sqlite:chats.db");
const store = stores.open("tanstack:ada");
const text = await chat({
  adapter: new EchoModel({}, "echo"),
  messages: [{ role: "user", content: "Which tram goes to the harbour?" }],
  middleware: [history(store)],
  stream: false,
});
console.log(text);
console.log((await store.listMessages()).map(({ role }) => role).join(" "));
