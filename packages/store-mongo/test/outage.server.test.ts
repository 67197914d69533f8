import { runFactory } from "@scrollback/conformance";
import { createMongoStores } from "../src/index.ts";

runFactory<{ url: string }>({
  name: "MongoDB",
  create: createMongoStores,
  secret: "hush",
  outages: {
    "names each server that nothing listens on": [
      () => ({ url: "mongodb://me:hush@127.0.0.1:1,127.0.0.1:2/app" }),
      "127.0.0.1:1 (ECONNREFUSED)",
      "127.0.0.1:2 (ECONNREFUSED)",
    ],
    "names an unknown server": [
      () => ({ url: "mongodb://nohost.invalid/app" }),
      "nohost.invalid:27017 (ENOTFOUND)",
    ],
    "names an unknown seed list": [
      () => ({ url: "mongodb+srv://nohost.invalid/app" }),
      "nohost.invalid (ENOTFOUND)",
    ],
  },
  silent: (port) => ({ url: `mongodb://127.0.0.1:${port}/app` }),
});
