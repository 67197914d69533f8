import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "./contract/index.ts";
import { harnessOf } from "./harnesses.ts";

const stores = serverStores("Redis");
runSessionContract({ name: "Redis", createHarness: async () => harnessOf(await stores()) });
