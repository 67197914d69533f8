import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

const stores = serverStores("MongoDB");
runSessionContract({ name: "MongoDB", createHarness: async () => harnessOf(await stores()) });
