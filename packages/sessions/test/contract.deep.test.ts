import { createSqliteStores } from "@scrollback/store-sqlite";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "./contract/contract.ts";

for (const name of ["MongoDB", "DynamoDB", "PostgreSQL"] as const) {
  const stores = serverStores(name);
  runSessionContract(name, async () => ({ openStores: await stores() }));
}

runSessionContract("SQLite", async () => {
  const url = scratchUrl();
  return { openStores: () => createSqliteStores({ url }) };
});
