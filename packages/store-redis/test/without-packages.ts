import { randomUUID } from "node:crypto";
import { registerHooks } from "node:module";
import { StoreError } from "@scrollback/store-core";
import { createRedisStores } from "../src/index.ts";

/** A program that stores a message as if packages were not installed: `node without-packages.ts <url> <package>...` */
const [url = "", ...missing] = process.argv.slice(2);
registerHooks({
  resolve(specifier, context, next) {
    if (!missing.includes(specifier)) return next(specifier, context);
    throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: "ERR_MODULE_NOT_FOUND" });
  },
});
await using stores = createRedisStores({ url, keyPrefix: randomUUID() });
try {
  const store = stores.open();
  await store.addMessages([{ role: "user", content: "by redis" }]);
  console.log(JSON.stringify(await store.listMessages()));
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  console.log(error.code, error.message);
}
