import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "./contract/contract.ts";

const stores = serverStores("Redis");
runSessionContract("Redis", async () => ({ openStores: await stores() }));
