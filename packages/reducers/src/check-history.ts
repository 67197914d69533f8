import { type ChatMessage, chatMessageTraits, type MessageTraits } from "@scrollback/store-core";
import { checkOptions, hasMethods } from "@scrollback/store-core/driver";
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
type HistoryProblem =
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

/** What the checks ask of a message. */
interface Asks<M> {
  readonly traits: Pick<MessageTraits<M>, "role" | "toolCalls" | "toolResults">;
  readonly isQuestion: (message: M) => boolean;
  /** Whether a message stands between a call and its result, as an approval does. */
  readonly standsBetween: (message: M) => boolean;
  /** Whether an answer of the model may be several messages, as those of the Responses API are. */
  readonly isSplit: boolean;
}

const ofChat: Asks<ChatMessage> = {
  traits: chatMessageTraits,
  isQuestion,
  standsBetween: (message) =>
    chatMessageTraits.toolCalls(message).length + chatMessageTraits.toolResults(message).length === 0 &&
    approvalsIn(message).length > 0,
  isSplit: false,
};

function ofTraits<M>(traits: MessageTraits<M>): Asks<M> {
  return {
    traits,
    isQuestion: (message) =>
      traits.role(message) === "user" &&
      traits.toolCalls(message).length + traits.toolResults(message).length === 0,
    standsBetween: () => false,
    isSplit: true,
  };
}

/**
 * Finds the structural problems for which a model's API rejects a history. Returns all problems in the order of the messages; an
 * empty array for an empty history or a lone system message.
 *
 * With `forRequest` the messages are meant for a model: the last one must be a user or tool message, and tool calls that
 * are open at the end count as unanswered. Default false.
 *
 * `traits` are those of messages of another type, such as `openaiTraits`. Consecutive messages of the assistant count as one answer
 * then: their calls may have their results behind the last of them.
 *
 * @throws StoreError `INVALID_ARGUMENT` for invalid messages, or a wrong or unknown option.
 * @example
 * checkHistory([{ role: "assistant", content: "Hi!" }]);
 * // [{ index: 0, code: "starts-with", message: "…" }]
 */
export function checkHistory(
  messages: readonly ChatMessage[],
  options?: { forRequest?: boolean; traits?: undefined },
): ProblemFound[];
export function checkHistory<M>(
  messages: readonly M[],
  options: { forRequest?: boolean; traits: MessageTraits<M> },
): ProblemFound[];
export function checkHistory(
  messages: readonly ChatMessage[],
  options: { forRequest?: boolean; traits?: MessageTraits<ChatMessage> | undefined } = {},
): ProblemFound[] {
  checkOptions("checkHistory", options, {
    forRequest: isBoolean,
    traits: hasMethods("role", "toolCalls", "toolResults"),
  });
  const { forRequest = false, traits = chatMessageTraits } = options;
  checkMessages("checkHistory", messages, (message) => traits.check?.(message));
  const asks = traits === chatMessageTraits ? ofChat : ofTraits(traits);
  const problems = [...problemsOfOrder(messages, asks), ...problemsOfTools(messages, asks, forRequest)];
  if (forRequest) problems.push(...problemsOfEnd(messages, asks));
  return problems.sort((one, other) => one.index - other.index);
}

function problemsOfOrder<M>(messages: readonly M[], { traits, isQuestion }: Asks<M>): ProblemFound[] {
  const problems: ProblemFound[] = [];
  messages.forEach((message, index) => {
    if (traits.role(message) !== "system" || index === 0) return;
    problems.push({ index, code: "late-system", message: "a system message must be the first message" });
  });
  const index = messages.findIndex((message) => traits.role(message) !== "system");
  const first = messages[index];
  if (first && !isQuestion(first)) {
    const message =
      "the first message after a system message must be a user message that answers no tool call";
    problems.push({ index, code: "starts-with", message });
  }
  return problems;
}

function problemsOfEnd<M>(messages: readonly M[], { traits }: Asks<M>): ProblemFound[] {
  const index = messages.length - 1;
  const last = messages[index];
  const role = last && traits.role(last);
  if (!role || role === "user" || role === "tool") return [];
  if (role === "system" && index === 0) return [];
  const message = `the last message of a request must be a user or tool message, not one of role ${role}`;
  return [{ index, code: "ends-with", message }];
}

/** A tool call of the assistant's last answer. */
interface Asked {
  /** Of its message. */
  readonly index: number;
  isAnswered: boolean;
}

const NONE: ReadonlySet<string> = new Set();

function problemsOfTools<M>(messages: readonly M[], asks: Asks<M>, countsOpen: boolean): ProblemFound[] {
  const { traits, isQuestion, standsBetween, isSplit } = asks;
  const problems: ProblemFound[] = [];
  const asked = new Map<string, Asked>();
  /** Whether a result has come since the last call. */
  let hasResults = false;

  const answer = (id: string, index: number) => {
    const call = asked.get(id);
    if (call && !call.isAnswered) {
      call.isAnswered = true;
      hasResults = true;
    } else if (call) {
      const message = "the tool call that this result answers has a result already";
      problems.push({ index, code: "duplicate-tool-result", message });
    } else {
      const message = "the assistant's message before this result makes no such tool call";
      problems.push({ index, code: "orphan-tool-result", message });
    }
  };
  const close = (kept = NONE) => {
    for (const [id, { index, isAnswered }] of asked) {
      if (kept.has(id)) continue;
      asked.delete(id);
      if (isAnswered) continue;
      const message = "a tool call has no result before the next message of a user or the assistant";
      problems.push({ index, code: "unanswered-tool-call", message });
    }
  };

  for (const [index, message] of messages.entries()) {
    const role = traits.role(message);
    const calls = traits.toolCalls(message);
    const results = traits.toolResults(message);
    if (role === "assistant" && !standsBetween(message)) {
      // The results of tools that the provider runs are in the assistant's own messages, this one or the next.
      const own = new Set(calls);
      // A call that code makes needs the call that runs the code, whose result comes later.
      const needed = results.filter(
        (id) => isSplit && calls.length > 0 && asked.get(id)?.isAnswered === false,
      );
      for (const id of results) if (!own.has(id) && !needed.includes(id)) answer(id, index);
      if (!isSplit || hasResults) close(new Set(needed));
      if (calls.length > 0) hasResults = false;
      for (const id of calls) asked.set(id, { index, isAnswered: false });
      for (const id of results) if (own.has(id)) answer(id, index);
    } else if (isQuestion(message)) {
      close();
    } else {
      for (const id of results) answer(id, index);
      if (role === "tool" && results.length === 0 && asked.size === 0) {
        const problem = "a tool message must follow the assistant message with its call";
        problems.push({ index, code: "orphan-tool-result", message: problem });
      }
    }
  }
  if (countsOpen) close();
  return problems;
}
