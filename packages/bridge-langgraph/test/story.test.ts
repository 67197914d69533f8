import { createMemoryStores } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { declareStoryTests } from "./story-tests.ts";

const memory = createMemoryStores();
// Threads in memory belong to one factory.
declareStoryTests("memory", async () => ({ ...memory, [Symbol.asyncDispose]: async () => undefined }));

const url = scratchUrl();
declareStoryTests("SQLite", async () => createSqliteStores({ url }));
