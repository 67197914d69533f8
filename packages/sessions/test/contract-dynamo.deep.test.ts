import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

const stores = serverStores("DynamoDB");
runSessionContract({ name: "DynamoDB", createHarness: async () => harnessOf(await stores()) });
