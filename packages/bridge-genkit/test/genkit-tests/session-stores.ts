// What the tests of Genkit take for its session stores: ours in the place of the one in memory.
import { openTestStores } from "../../../../conformance-tests/test/fixtures/test-stores.ts";
import { ScrollbackSessionStore } from "../../src/index.ts";

export { FileSessionStore } from "@genkit-ai/ai/session-stores";

const stores = await openTestStores(process.env.SCROLLBACK_STORES ?? "memory:");
await stores.setup();

export class InMemorySessionStore<S> extends ScrollbackSessionStore<S> {
  constructor(options: { rejectBranchingSessions?: boolean } = {}) {
    // Stores of one process must not meet, as those in memory do not.
    const scope = crypto.randomUUID();
    super({ ...options, stores, scope: () => scope });
  }
}
