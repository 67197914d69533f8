import { type ChatMessage, chatMessageTraits } from "@scrollback/store-core";
import { checkOptions } from "@scrollback/store-core/driver";
import { checkMessages, isBoolean } from "@scrollback/store-core/internal";
import { approvalsIn, isQuestion } from "./exchanges.ts";

/**
 * The problems that a history's structure can have.
 *
 * - `starts-with`: the first message (after a system message) is not a user message, or it answers a tool call.
 * - `late-system`: a system message that is not the first message.
 * - `orphan-tool-result`: a tool result that does not follow the assistant message with its call. Only other results of
 *   that message and approvals may be between.
 * - `unanswered-tool-call`: a tool call without its result before the next user or assistant message.
 * - `duplicate-tool-result`: a second result of the same tool call.
 * - `ends-with`: the last message of a request is neither a user nor a tool message.
 */
export type HistoryProblem =
  | "starts-with"
  | "late-system"
  | "orphan-tool-result"
  | "unanswered-tool-call"
  | "duplicate-tool-result"
  | "ends-with";

/** One problem of a history. */
export interface ProblemFound {
  /** The index of the invalid message. */
  index: number;
  code: HistoryProblem;
  /** The problem in one sentence. It contains no message text. */
  message: string;
}

const { toolCalls, toolResults } = chatMessageTraits;

/**
 * Finds the structural problems for which a model's API rejects a history. Returns all problems in the order of the messages; an
 * empty array for an empty history or a lone system message.
 *
 * With `forRequest` the messages are meant for a model: the last one must be a user or tool message, and tool calls that
 * are open at the end count as unanswered. Default false.
 *
 * @throws StoreError `INVALID_ARGUMENT` for invalid messages, or a wrong or unknown option.
 * @example
 * checkHistory([{ role: "assistant", content: "Hi!" }]);
 * // [{ index: 0, code: "starts-with", message: "…" }]
 */
export function checkHistory(
  messages: readonly ChatMessage[],
  options: { forRequest?: boolean } = {},
): ProblemFound[] {
  checkOptions("checkHistory", options, { forRequest: isBoolean });
  checkMessages("checkHistory", messages);
  const problems = [...problemsOfOrder(messages), ...problemsOfTools(messages, options.forRequest ?? false)];
  if (options.forRequest) problems.push(...problemsOfEnd(messages));
  return problems.sort((one, other) => one.index - other.index);
}

function problemsOfOrder(messages: readonly ChatMessage[]): ProblemFound[] {
  const problems: ProblemFound[] = [];
  messages.forEach(({ role }, index) => {
    if (role !== "system" || index === 0) return;
    problems.push({ index, code: "late-system", message: "a system message must be the first message" });
  });
  const index = messages.findIndex(({ role }) => role !== "system");
  const first = messages[index];
  if (first && !isQuestion(first)) {
    const message =
      "the first message after a system message must be a user message that answers no tool call";
    problems.push({ index, code: "starts-with", message });
  }
  return problems;
}

function problemsOfEnd(messages: readonly ChatMessage[]): ProblemFound[] {
  const index = messages.length - 1;
  const last = messages[index];
  if (!last || last.role === "user" || last.role === "tool") return [];
  if (last.role === "system" && index === 0) return [];
  const message = `the last message of a request must be a user or tool message, not one of role ${last.role}`;
  return [{ index, code: "ends-with", message }];
}

/** The tool calls of an assistant message, and which results have arrived. */
interface Asked {
  readonly index: number;
  readonly calls: Map<string, "open" | "answered">;
}

function problemsOfTools(messages: readonly ChatMessage[], countsOpen: boolean): ProblemFound[] {
  const problems: ProblemFound[] = [];
  let asked: Asked | undefined;

  const answer = (id: string, index: number) => {
    const state = asked?.calls.get(id);
    if (state === "open") {
      asked?.calls.set(id, "answered");
    } else if (state === "answered") {
      const message = "the tool call that this result answers has a result already";
      problems.push({ index, code: "duplicate-tool-result", message });
    } else {
      const message = "the assistant's message before this result makes no such tool call";
      problems.push({ index, code: "orphan-tool-result", message });
    }
  };
  const close = () => {
    for (const state of asked?.calls.values() ?? []) {
      if (state === "answered" || !asked) continue;
      const message = "a tool call has no result before the next message of a user or the assistant";
      problems.push({ index: asked.index, code: "unanswered-tool-call", message });
    }
    asked = undefined;
  };

  for (const [index, message] of messages.entries()) {
    const calls = toolCalls(message);
    const results = toolResults(message);
    const standsBetween = calls.length + results.length === 0 && approvalsIn(message).length > 0;
    if (message.role === "assistant" && !standsBetween) {
      // The results of tools that the provider runs are in the assistant's own messages, this one or the next.
      const own = new Set(calls);
      for (const id of results) if (!own.has(id)) answer(id, index);
      close();
      asked = calls.length === 0 ? undefined : { index, calls: new Map(calls.map((id) => [id, "open"])) };
      for (const id of results) if (own.has(id)) answer(id, index);
    } else if (isQuestion(message)) {
      close();
    } else {
      for (const id of results) answer(id, index);
      if (message.role === "tool" && results.length === 0 && !asked) {
        const problem = "a tool message must follow the assistant message with its call";
        problems.push({ index, code: "orphan-tool-result", message: problem });
      }
    }
  }
  if (countsOpen) close();
  return problems;
}
