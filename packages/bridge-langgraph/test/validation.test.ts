import { createMemoryStores } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { runValidation } from "./validation.ts";

runValidation("memory", () => createMemoryStores());

const url = scratchUrl();
runValidation("SQLite", () => createSqliteStores({ url }));
