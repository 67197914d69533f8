/** Prints the chat in memory and in a SQLite file. */
import { createMemoryStores } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { chatOn } from "./program.ts";

const [, , file = "chats.db"] = process.argv;
const inMemory = await chatOn(createMemoryStores());
console.log(JSON.stringify([inMemory, await chatOn(createSqliteStores({ url: `sqlite:${file}` }))]));
