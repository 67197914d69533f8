// A program that prints the error of a first call, with the complete content of its cause: node child.ts <url>
import { inspect } from "node:util";
import { createDynamoStores } from "../src/index.ts";

await using stores = createDynamoStores({ url: process.argv[2] ?? "" });
const { code, retryable, message, cause } = await stores
  .open("a")
  .listMessages()
  .catch((thrown) => thrown);
console.log(JSON.stringify({ code, retryable, message, cause: inspect(cause) }));
