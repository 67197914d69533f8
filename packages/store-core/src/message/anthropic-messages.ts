import { isObject } from "../arguments.ts";
import { blocksOf, contentProblem } from "./blocks.ts";
import type { MessageTraits, Role } from "./message.ts";

type Fields = Readonly<Record<string, unknown>>;

const isCall = ({ type }: Fields) => /(?:^|_)tool_use$/.test(String(type));
const isThinking = ({ type }: Fields) => type === "thinking" || type === "redacted_thinking";
const blocksIn = (message: object) => blocksOf((message as Fields).content);

/** The ids of calls that the blocks of a message need before them: of results, and of the code that made a call. */
const needed = ({ type, tool_use_id: result, caller }: Fields): unknown =>
  isCall({ type }) ? (Object(caller) as Fields).tool_id : result;

/**
 * Traits of the Anthropic SDK's messages. A call whose result is in the same message, as those that the API runs itself, counts as
 * neither.
 */
export const anthropicMessageTraits: Required<MessageTraits<object>> = Object.freeze({
  role: (message: object) => (message as Fields).role as Role,
  toolCalls(message: object): string[] {
    const blocks = blocksIn(message);
    const answered = new Set(blocks.map(({ tool_use_id: id }) => id));
    return blocks.flatMap((block) => (isCall(block) && !answered.has(block.id) ? [String(block.id)] : []));
  },
  toolResults(message: object): string[] {
    const blocks = blocksIn(message);
    const own = new Set(blocks.flatMap((block) => (isCall(block) ? [block.id] : [])));
    return blocks.flatMap((block) => {
      const id = needed(block);
      return typeof id === "string" && !own.has(id) ? [id] : [];
    });
  },
  isReasoning(message: object): boolean {
    const blocks = blocksIn(message);
    return (message as Fields).role === "assistant" && blocks.length > 0 && blocks.every(isThinking);
  },
  isCompaction: (message: object) =>
    (message as Fields).role === "assistant" && blocksIn(message).some(({ type }) => type === "compaction"),
  check(message: unknown): string | undefined {
    if (isObject(message)) return "must be an object with a role and content";
    const { role, content, tool_calls: calls } = message as Fields;
    if (role !== "user" && role !== "assistant" && role !== "system")
      return `role must be "user", "assistant" or "system"`;
    if (calls !== undefined) return "tool_calls is a field of the OpenAI SDK, not of Anthropic's";
    const problem = contentProblem(content);
    if (problem) return problem;
    const blocks = blocksOf(content);
    const wrong = blocks.findIndex((block) => isCall(block) && typeof block.id !== "string");
    if (wrong >= 0) return `content[${wrong}].id must be a string (a block of type "${blocks[wrong]?.type}")`;
    const result = blocks.findIndex(
      ({ type, tool_use_id: id }) => /tool_result$/.test(String(type)) && typeof id !== "string",
    );
    return result < 0 ? undefined : `content[${result}].tool_use_id must be a string`;
  },
});
