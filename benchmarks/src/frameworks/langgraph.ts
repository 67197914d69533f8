import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { answerTo, type TurnContestant } from "./contestant.ts";

interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

const State = Annotation.Root({
  messages: Annotation<Message[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
});

/**
 * A graph with one node: a turn is two steps, the initial step of LangGraph and the node. With `durability: "sync"` each step is
 * stored before the next one begins.
 */
export function langGraphTurns(saver: () => BaseCheckpointSaver): Pick<TurnContestant, "turn" | "read"> {
  const graph = () =>
    new StateGraph(State)
      .addNode("answer", ({ messages }) => ({
        messages: [{ role: "assistant" as const, content: answerTo(messages.at(-1)?.content ?? "") }],
      }))
      .addEdge(START, "answer")
      .compile({ checkpointer: saver() });
  const configOf = (threadId: string) => ({ configurable: { thread_id: threadId } });
  return {
    turn: (threadId, content) =>
      graph().invoke(
        { messages: [{ role: "user", content }] },
        { ...configOf(threadId), durability: "sync" },
      ),
    async read(threadId) {
      const { values } = await graph().getState(configOf(threadId));
      return (values.messages as Message[]).map((message) => message.content);
    },
  };
}
