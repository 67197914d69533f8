import { Agent, type AgentInputItem, run, type Session, setTracingDisabled, tool } from "@openai/agents-core";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents-core/testing";
import { z } from "zod";
import { answerTo, TOOL_RESULT, type TurnContestant } from "./contestant.ts";

setTracingDisabled(true);

const findTram = tool({
  name: "find_tram",
  description: "Finds a tram",
  parameters: z.object({ to: z.string() }),
  execute: async () => TOOL_RESULT,
});

/** An agent that calls a tool and answers: a turn is four items. */
export function openAiTurns(sessionOf: (threadId: string) => Session): Pick<TurnContestant, "turn" | "read"> {
  return {
    async turn(threadId, question) {
      const call = functionCall("find_tram", { to: "harbour" }, { callId: crypto.randomUUID() });
      const model = new ScriptedModel([[call], [assistantMessage(answerTo(question))]]);
      const agent = new Agent({
        name: "guide",
        instructions: "You know every tram.",
        model,
        tools: [findTram],
      });
      await run(agent, question, { session: sessionOf(threadId) });
    },
    read: async (threadId) => (await sessionOf(threadId).getItems()).flatMap(textOf),
  };
}

function textOf(item: AgentInputItem): string[] {
  if (item.type === "function_call_result") return [TOOL_RESULT];
  if (!("content" in item)) return [];
  if (typeof item.content === "string") return [item.content];
  return (item.content ?? []).flatMap((part) => ("text" in part ? part.text : []));
}
