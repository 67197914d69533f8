import { type ChatMessage, chatMessageTraits } from "@scrollback/store-core";
import { kindOf } from "@scrollback/store-core/internal";

const { toolCalls, toolResults } = chatMessageTraits;

/** Whether a message belongs to tool use: it has the role `tool`, or holds a tool call, a tool result or an approval. */
export function isToolContent(message: ChatMessage): boolean {
  return bearsResult(message) || toolCalls(message).length > 0 || approvalsIn(message).length > 0;
}

/** Whether a message holds a tool result, or has the role `tool`. */
function bearsResult(message: ChatMessage): boolean {
  const kind = kindOf(message, chatMessageTraits);
  return kind === "t" || kind === "b";
}

/** Whether a message is reasoning alone, which belongs to the message after it. */
export function isReasoning(message: ChatMessage): boolean {
  return chatMessageTraits.isReasoning(message);
}

/** Returns for each message whether it is tool content, or reasoning that belongs to tool content. */
export function toolUseIn(messages: readonly ChatMessage[]): boolean[] {
  let isNext = false;
  return messages
    .toReversed()
    .map((message) => {
      isNext = isToolContent(message) || (isNext && isReasoning(message));
      return isNext;
    })
    .toReversed();
}

/** Whether a message holds the result of a tool call in another message. */
export function answersEarlier(message: ChatMessage): boolean {
  const own = toolCalls(message);
  return message.role === "tool" || toolResults(message).some((id) => !own.includes(id));
}

/** Whether a turn may begin with a message: it is a user message and does more than answer a tool call. */
export function isQuestion(message: ChatMessage): boolean {
  return message.role === "user" && !isToolContent(message);
}

type Approval = Extract<
  Exclude<ChatMessage["content"], string>[number],
  { type: "tool-approval-request" | "tool-approval-response" }
>;

/** The approval requests and responses in a message. */
export function approvalsIn({ content }: ChatMessage): Approval[] {
  if (typeof content === "string") return [];
  return content.filter(
    (part) => part.type === "tool-approval-request" || part.type === "tool-approval-response",
  );
}

/**
 * Returns for each index whether a history that began there would split an exchange: a tool call, its approval and its
 * result, at any distance, or reasoning alone and the message after it. If a call's id occurs again, later messages with this id belong to the later call.
 */
export function cutsExchange(messages: readonly ChatMessage[]): boolean[] {
  /** For each start index, the index where the exchange ends. */
  const ends = messages.map((_, index) => index);
  const join = (from: number | undefined, to: number) => {
    if (from !== undefined) ends[from] = to;
  };
  const calls = new Map<string, number>();
  const requests = new Map<string, number>();
  let caller: number | undefined;
  messages.forEach((message, index) => {
    const results = toolResults(message);
    if (isReasoning(message)) join(index, index + 1);
    for (const id of toolCalls(message)) {
      calls.set(id, index);
      caller = index;
    }
    for (const id of results) join(calls.get(id), index);
    for (const approval of approvalsIn(message)) {
      if (approval.type === "tool-approval-request") {
        requests.set(approval.approvalId, index);
        join(calls.get(approval.toolCallId), index);
      } else {
        join(requests.get(approval.approvalId), index);
      }
    }
    // Its position alone may tell which call it answers.
    if (message.role === "tool" && results.length === 0) join(caller, index);
  });
  let end = -1;
  return ends.map((own, index) => {
    const isInside = index <= end;
    end = Math.max(end, own);
    return isInside;
  });
}
