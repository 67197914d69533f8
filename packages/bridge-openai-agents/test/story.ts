import {
  Agent,
  type AgentInputItem,
  RunState,
  run,
  type Session,
  setTracingDisabled,
  tool,
} from "@openai/agents-core";
import {
  assistantMessage,
  functionCall,
  ScriptedModel,
  type ScriptedModelInput,
} from "@openai/agents-core/testing";
import { z } from "zod";

setTracingDisabled(true);

/** The result of each step of the story: the items of the session, and the model's prompts. */
export interface Step {
  readonly items: AgentInputItem[];
  readonly inputs: unknown[];
  readonly output: unknown;
}

function cityAgent(script: ScriptedModelInput[]) {
  const model = new ScriptedModel(script);
  const findTram = tool({
    name: "find_tram",
    description: "Finds a tram",
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: async ({ to }) => `Line 4 goes to the ${to}`,
  });
  return {
    agent: new Agent({ name: "guide", instructions: "You know every tram.", model, tools: [findTram] }),
    model,
  };
}

/**
 * A chat with a tool that needs approval. Each step calls `openSession`, like a new process. Between the request for approval
 * and the answer, the state exists only as text.
 */
export async function tellStory(openSession: () => Session): Promise<Step[]> {
  const steps: Step[] = [];
  const keep = async (model: ScriptedModel, output: unknown) => {
    model.assertComplete();
    const inputs = model.calls.map(({ request }) => request.input);
    steps.push({ items: await openSession().getItems(), inputs, output });
  };

  const greeting = cityAgent([[assistantMessage("Hello Ada.")]]);
  const greeted = await run(greeting.agent, "I am Ada.", { session: openSession() });
  await keep(greeting.model, greeted.finalOutput);

  const asking = cityAgent([[functionCall("find_tram", { to: "harbour" }, { callId: "call-1" })]]);
  const asked = await run(asking.agent, "Which tram goes to the harbour?", { session: openSession() });
  const text = asked.state.toString();
  await keep(
    asking.model,
    asked.interruptions.map(({ rawItem }) => rawItem),
  );

  const approving = cityAgent([[assistantMessage("Line 4.")]]);
  const state = await RunState.fromString(approving.agent, text);
  for (const interruption of state.getInterruptions()) state.approve(interruption);
  const approved = await run(approving.agent, state, { session: openSession() });
  await keep(approving.model, approved.finalOutput);

  const streaming = cityAgent([[assistantMessage("You are welcome.")]]);
  const streamed = await run(streaming.agent, "Thank you!", { session: openSession(), stream: true });
  await streamed.completed;
  await keep(streaming.model, streamed.finalOutput);

  const rejecting = cityAgent([
    [functionCall("find_tram", { to: "station" }, { callId: "call-2" })],
    [assistantMessage("Then not.")],
  ]);
  const asksAgain = await run(rejecting.agent, "And to the station?", { session: openSession() });
  for (const interruption of asksAgain.interruptions) asksAgain.state.reject(interruption);
  const rejected = await run(rejecting.agent, asksAgain.state, { session: openSession() });
  await keep(rejecting.model, rejected.finalOutput);
  return steps;
}
