// A program that watches a thread: node watching-child.ts <url> <schema>. Prints a line at the first hint, and has nothing to do then.
import { Pool } from "pg";
import { createPostgresStores } from "../src/index.ts";

const [url = "", schema = ""] = process.argv.slice(2);
const client = new Pool({ connectionString: url, allowExitOnIdle: true });
const stores = createPostgresStores({ client, schema, listen: true });
const busy = setInterval(() => {}, 1_000);
stores.watch("a", () => {
  process.stdout.write("hinted\n");
  clearInterval(busy);
});
