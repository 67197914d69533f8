import type { StoredMessage } from "@langchain/core/messages";
import type { ChatMessage } from "@scrollback/store-core";
import type { HistoryTraits } from "@scrollback/store-core/internal";

/** The role for trimming: a turn begins with a human message, and a tool message stays with the preceding message. */
export function roleOf(type: string): ChatMessage["role"] {
  if (type === "human") return "user";
  if (type === "system" || type === "developer") return "system";
  return type === "tool" || type === "function" ? "tool" : "assistant";
}

type Fields = Readonly<Record<string, unknown>>;

/** The properties of stored LangChain messages for a history that a model receives. */
export const storedHistoryTraits: HistoryTraits<StoredMessage> = {
  role: ({ type }) => roleOf(type),
  toolCalls: ({ data }) => listOf((data as unknown as Fields).tool_calls).flatMap(idOf),
  toolResults({ type, data }) {
    const { tool_call_id: id } = data as unknown as Fields;
    return type === "tool" && typeof id === "string" ? [id] : [];
  },
  without(message, calls) {
    if (message.type === "tool") return undefined;
    const { tool_calls, content, additional_kwargs, ...data } = message.data as unknown as Fields;
    const isKept = (one: unknown) => !idOf(one).some((id) => calls.has(id));
    const keptCalls = listOf(tool_calls).filter(isKept);
    const keptContent = Array.isArray(content) ? content.filter(isKept) : content;
    const isEmpty = keptContent === "" || (Array.isArray(keptContent) && keptContent.length === 0);
    if (keptCalls.length === 0 && isEmpty) return undefined;
    const kwargs = Object(additional_kwargs) as Fields;
    return {
      ...message,
      data: {
        ...data,
        ...{ tool_calls: keptCalls, content: keptContent },
        additional_kwargs: Array.isArray(kwargs.tool_calls)
          ? { ...kwargs, tool_calls: kwargs.tool_calls.filter(isKept) }
          : kwargs,
      } as unknown as StoredMessage["data"],
    };
  },
  isReasoning: () => false,
};

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The id of a call, in LangChain's form and in those of content blocks. */
function idOf(call: unknown): string[] {
  const { id, call_id } = Object(call) as Fields;
  return [call_id, id].filter((one) => typeof one === "string");
}
