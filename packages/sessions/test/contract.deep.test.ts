import { createLibsqlStores } from "@scrollback/store-libsql";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { onLibsql } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { onWorkerd } from "../../../conformance-tests/test/fixtures/workerd.ts";
import { openWorkerdStores } from "../../store-cloudflare/test/stores.ts";
import { runSessionContract } from "./contract/contract.ts";

for (const name of ["MongoDB", "DynamoDB", "PostgreSQL"] as const) {
  const stores = serverStores(name);
  runSessionContract(name, async () => ({ openStores: await stores() }));
}

runSessionContract("SQLite", async () => {
  const url = scratchUrl();
  return { openStores: () => createSqliteStores({ url }) };
});

onLibsql((name, _, newUrl) =>
  runSessionContract(name, async () => {
    const url = await newUrl();
    return { openStores: () => createLibsqlStores({ url }) };
  }),
);

onWorkerd((name, _, newUrl) => {
  let naming: Promise<string> | undefined;
  runSessionContract(name, async () => {
    // Tables for each test would be hundreds in one database of D1.
    naming ??= newUrl();
    const url = await naming;
    return { openStores: () => openWorkerdStores(url) };
  });
});
