// A program that adds a message with the option setup: node setup-child.ts <url> <schema> <thread>
import { createPostgresStores } from "../src/index.ts";
import { users } from "./messages.ts";

const [url = "", schema = "", threadId = ""] = process.argv.slice(2);
await using stores = createPostgresStores({ url, schema, setup: true });
await stores.open(threadId).addMessages(users(1));
