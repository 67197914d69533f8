import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { ChatMessage } from "@scrollback/store-core";
import type { Contestant } from "./contestant.ts";

/** The common methods of all LangChain.js histories. */
export interface History {
  addMessages(messages: BaseMessage[]): Promise<void>;
  getMessages(): Promise<BaseMessage[]>;
}

/** A LangChain.js history, which keeps all messages and reads all messages. */
export function langChain(
  historyOf: (sessionId: string) => History,
  own: Pick<Contestant, "close"> & Partial<Pick<Contestant, "fill">>,
): Contestant {
  return {
    fill: (sessionId, messages) => historyOf(sessionId).addMessages(toLangChain(messages)),
    open(sessionId) {
      const history = historyOf(sessionId);
      return {
        append(messages) {
          const converted = toLangChain(messages);
          return () => history.addMessages(converted);
        },
        newest: (count) => async () => (await history.getMessages()).slice(-count),
        all: () => () => history.getMessages(),
      };
    },
    ...own,
  };
}

/** The same messages in the form of LangChain.js. */
export function toLangChain(messages: readonly ChatMessage[]): BaseMessage[] {
  return messages.map(toBaseMessage);
}

/** The same messages as text only, for a history that cannot store anything else. */
export function toLangChainTexts(messages: readonly ChatMessage[]): BaseMessage[] {
  return messages.map(({ role, content }) => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    return role === "user" ? new HumanMessage(text) : new AIMessage(text);
  });
}

function toBaseMessage({ role, content }: ChatMessage): BaseMessage {
  if (typeof content === "string")
    return role === "user" ? new HumanMessage(content) : new AIMessage(content);
  const [first, second] = content;
  if (first?.type === "tool-result") {
    return new ToolMessage({
      content: JSON.stringify(first.output),
      tool_call_id: first.toolCallId,
      name: first.toolName,
    });
  }
  if (first?.type === "text" && second?.type === "tool-call") {
    const { toolCallId: id, toolName: name, input } = second;
    return new AIMessage({
      content: first.text,
      tool_calls: [{ id, name, args: input as Record<string, unknown>, type: "tool_call" }],
    });
  }
  throw new TypeError("the conversation must not have such messages");
}
