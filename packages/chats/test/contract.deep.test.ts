import { createLibsqlStores } from "@scrollback/store-libsql";
import { onLibsql } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { onWorkerd } from "../../../conformance-tests/test/fixtures/workerd.ts";
import { openWorkerdStores } from "../../store-cloudflare/test/stores.ts";
import { runChatContract } from "./contract/index.ts";

for (const name of ["MongoDB", "DynamoDB"] as const) {
  const stores = serverStores(name);
  runChatContract({
    name,
    createHarness: async () => ({ openStores: await stores(), close: async () => undefined }),
  });
}

onLibsql((name, _, newUrl) =>
  runChatContract({
    name,
    async createHarness() {
      const url = await newUrl();
      return { openStores: () => createLibsqlStores({ url }), close: async () => undefined };
    },
  }),
);

onWorkerd((name, _, newUrl) => {
  let naming: Promise<string> | undefined;
  runChatContract({
    name,
    async createHarness() {
      // Tables for each test would be hundreds in one database of D1.
      naming ??= newUrl();
      const url = await naming;
      return { openStores: () => openWorkerdStores(url), close: async () => undefined };
    },
  });
});
