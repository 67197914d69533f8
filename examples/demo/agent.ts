import { setTimeout as pause } from "node:timers/promises";
import { openStores, type Revision, type StoreState } from "@scrollback/store-core";
import { openaiTraits } from "@scrollback/store-core/openai";
import { batches, type Message } from "./conversation.ts";

// An agent in a process of its own: `node agent.ts <store> [state] [batch]`. It streams the conversation into the store, from its first
// batch into a new thread, or from another one into the thread of the state. The demo starts it, and gets its reports.

/** What the agent reports. The first batch is number 0. */
export type Report =
  | { readonly event: "opened"; readonly state: StoreState }
  | { readonly event: "begins"; readonly batch: number }
  | {
      readonly event: "stored";
      readonly batch: number;
      readonly revision: Revision | null;
      readonly ms: number;
    };

const [, , url = "", state, from = "0"] = process.argv;
const report = (report: Report) => process.send?.(report);

await using stores = await openStores<Message>(url, { traits: openaiTraits, maxMessages: 40, setup: true });
const store = state ? stores.restore(JSON.parse(state)) : stores.open();
report({ event: "opened", state: await store.serialize() });

for (const [batch, messages] of batches.entries()) {
  if (batch < Number(from)) continue;
  await pause(25); // so that a person can follow
  report({ event: "begins", batch });
  const start = performance.now();
  const revision = await store.addMessages(messages, { operationId: `batch ${batch}` });
  report({ event: "stored", batch, revision, ms: performance.now() - start });
}
process.disconnect?.();
