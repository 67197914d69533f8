import { createMemoryStores } from "@scrollback/store-core";
import { declareStoryTests } from "./story-tests.ts";

const memory = createMemoryStores();
// Threads in memory belong to one factory.
declareStoryTests("memory", async () => ({ ...memory, [Symbol.asyncDispose]: async () => undefined }));
