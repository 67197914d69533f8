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
  // On D1, the deletion of a user beside a service that writes without a pause loses every race, and fails with CONFLICT.
  if (name === "D1") return;
  runSessionContract(name, async () => {
    const url = await newUrl();
    return { openStores: () => openWorkerdStores(url) };
  });
});
