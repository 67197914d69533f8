import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

const stores = serverStores("Redis");
runSessionContract({ name: "Redis", createHarness: async () => harnessOf(await stores()) });
