import type { ChatMessage, Part } from "@scrollback/store-core";
import { type Conversion, convertMessages, type MessageLosses } from "@scrollback/store-core/internal";
import { isToolUIPart, type UIMessage } from "ai";
import { chatPart } from "./chat-part.ts";
import { chatToolParts } from "./chat-tool-parts.ts";
import { uiMessageProblem } from "./message-traits.ts";

/**
 * Converts UI messages to Scrollback messages. Each step of an answer becomes an assistant message, followed by a tool message
 * with the results of its calls. The first assistant message has the id and the metadata.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a UI message.
 */
export function fromUIMessages(messages: readonly UIMessage[]): Conversion<ChatMessage> {
  return convertMessages("fromUIMessages", messages, addMessage, uiMessageProblem);
}

function addMessage(
  made: ChatMessage[],
  { id, role, metadata, parts, ...unread }: UIMessage,
  losses: MessageLosses,
): boolean {
  losses.unread("", unread);
  const chat = role === "assistant" ? answerMessages(parts, losses) : inputMessages(role, parts, losses);
  const first = chat[0];
  if (first) chat[0] = { id, ...first, ...(metadata !== undefined && { metadata }) };
  made.push(...chat);
  return first !== undefined;
}

/** Converts a message of the user or the system. */
function inputMessages(
  role: "user" | "system",
  parts: UIMessage["parts"],
  losses: MessageLosses,
): ChatMessage[] {
  const content = losses.converted(parts, "parts", (part, path) => {
    const hasPlace = part.type === "text" || (role === "user" && part.type === "file");
    return hasPlace ? chatPart(part, path, losses) : undefined;
  });
  return content.length === 0 ? [] : [{ role, content }];
}

function answerMessages(parts: UIMessage["parts"], losses: MessageLosses): ChatMessage[] {
  const made: ChatMessage[] = [];
  let step: Step = { content: [], results: [], later: [] };
  const endStep = () => {
    const { content, results, later } = step;
    if (content.length > 0) made.push({ role: "assistant", content });
    if (results.length > 0) made.push({ role: "tool", content: results });
    if (later.length > 0) made.push({ role: "assistant", content: later });
    step = { content: [], results: [], later: [] };
  };
  for (const [index, part] of parts.entries()) {
    if (part.type === "step-start") endStep();
    else if (!addPart(step, part, `parts[${index}]`, losses)) losses.dropped(`parts[${index}]`);
  }
  endStep();
  return made;
}

interface Step {
  readonly content: Part[];
  readonly results: Part[];
  /** Results of approved tools that the provider runs: the provider returns them in an answer, after the approval. */
  readonly later: Part[];
}

function addPart(step: Step, part: UIMessage["parts"][number], path: string, losses: MessageLosses): boolean {
  if (!isToolUIPart(part)) {
    const made = chatPart(part, path, losses);
    if (made) step.content.push(made);
    return made !== undefined;
  }
  const tool = chatToolParts(part, path, losses);
  if (!tool) return false;
  const { call, request, response, result } = tool;
  step.content.push(call, ...(request ? [request] : []));
  if (response) step.results.push(response);
  if (!result) return true;
  if (!part.providerExecuted) step.results.push(result);
  else if (response) step.later.push(result);
  else step.content.push(result);
  return true;
}
