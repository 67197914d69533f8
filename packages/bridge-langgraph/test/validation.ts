import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import type { StoreFactory } from "@scrollback/store-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { framework } from "./framework.ts";

/**
 * Runs LangGraph's own validation suite. The suite expects the functions of a test runner as globals, and a separate
 * namespace for each checkpointer.
 */
export function runValidation(name: string, openStores: () => StoreFactory | Promise<StoreFactory>): void {
  Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });
  let count = 0;
  const opened = new Map<BaseCheckpointSaver, StoreFactory>();
  const initializer = {
    checkpointerName: `ScrollbackSaver on ${name}`,
    async createCheckpointer() {
      const stores = await openStores();
      const saver = new ScrollbackSaver({ stores, prefix: `validation-${count++}` });
      opened.set(saver, stores);
      return saver;
    },
    async destroyCheckpointer(saver: BaseCheckpointSaver) {
      await opened.get(saver)?.close();
      opened.delete(saver);
    },
  };
  // Its tests depend on the ones before them.
  const options = { ...countedTests(framework, name, "theirs"), shuffle: false };
  describe(`LangGraph's suite on ${name}`, options, () => {
    specTest(initializer);
    deltaChannelHistoryTests(initializer);
  });
}
