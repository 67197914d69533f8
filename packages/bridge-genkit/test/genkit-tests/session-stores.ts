// Replaces Genkit's session stores in its tests: the bridge's store instead of the in-memory one.
import { openTestStores } from "../../../../conformance-tests/test/fixtures/test-stores.ts";
import { ScrollbackSessionStore } from "../../src/index.ts";

export { FileSessionStore } from "@genkit-ai/ai/session-stores";

const stores = await openTestStores(process.env.SCROLLBACK_STORES ?? "memory:");
await stores.setup();

export class InMemorySessionStore<S> extends ScrollbackSessionStore<S> {
  constructor(options: { rejectBranchingSessions?: boolean } = {}) {
    // Like in-memory stores, the stores of one process must not share data.
    const scope = crypto.randomUUID();
    super({ ...options, stores, scope: () => scope });
  }
}
