import { createMemoryStores } from "@scrollback/store-core";
import { onMemory } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareStoreTests } from "./store-tests.ts";
import { declareStoryTests } from "./story-tests.ts";
import { runValidation } from "./validation.ts";

onMemory(declareStoreTests);

const memory = createMemoryStores();
// Threads in memory belong to one factory.
declareStoryTests("memory", async () => ({ ...memory, [Symbol.asyncDispose]: async () => undefined }));

runValidation("memory", () => createMemoryStores());
