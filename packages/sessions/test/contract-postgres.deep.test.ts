import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

const stores = serverStores("PostgreSQL");
runSessionContract({ name: "PostgreSQL", createHarness: async () => harnessOf(await stores()) });
