import { runDocumentDatabase } from "../src/conformance/index.ts";
import { MemoryDocuments } from "../src/index.ts";
import { gated } from "./harness.ts";

runDocumentDatabase({
  name: "Memory",
  async createHarness() {
    const memory = new MemoryDocuments();
    let requests = 0;
    const database = gated(memory, () => {
      requests += 1;
    });
    return {
      connect: () => database,
      sweep: async () => void memory.sweep(Date.now()),
      async damage(threadId) {
        memory.documentsOf(threadId).head = "damaged";
      },
      requestCount: () => requests,
      close: () => memory.close(),
    };
  },
});
