import { Agent, RunState, run, setTracingDisabled, tool } from "@openai/agents-core";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents-core/testing";
import { ScrollbackSession } from "@scrollback/bridge-openai-agents";
import { Records } from "@scrollback/collections";
import { openStores } from "@scrollback/store-core";
import { z } from "zod";

// A run that waits for an approval. Run it twice: the first process asks and ends, the second one approves and continues.
setTracingDisabled(true);
await using stores = await openStores("sqlite:tickets.db");
const session = new ScrollbackSession({ stores, sessionId: "ada" });
const waiting = new Records<string>({ stores, prefix: "waiting-runs" });
const found = await waiting.get(["ada"]);

const buyTicket = tool({
  name: "buy_ticket",
  description: "Buys a ticket",
  parameters: z.object({ to: z.string() }),
  needsApproval: true,
  execute: async ({ to }) => `a ticket to ${to}, 4 euros`,
});
// A model that needs no key; give the agent a real one instead.
const model = new ScriptedModel([
  found
    ? [assistantMessage("Here is your ticket.")]
    : [functionCall("buy_ticket", { to: "the harbour" }, { callId: "call-1" })],
]);
const agent = new Agent({ name: "guide", model, tools: [buyTicket] });

if (found) {
  const state = await RunState.fromString(agent, found.value);
  for (const interruption of state.getInterruptions()) state.approve(interruption);
  const { finalOutput } = await run(agent, state, { session });
  await waiting.set(["ada"], state.toString(), { expectedRevision: found.revision });
  console.log(`approved: ${finalOutput}`);
} else {
  const { state, interruptions } = await run(agent, "A ticket to the harbour, please.", { session });
  await waiting.set(["ada"], state.toString(), { expectedRevision: null });
  console.log(`waiting for approval: ${interruptions.map(({ name }) => name).join()}`);
}
for (const item of await session.getItems()) console.log("role" in item ? item.role : item.type);
