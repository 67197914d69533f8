import type { ChatMessage, Part } from "@scrollback/store-core";

/** A conversation from one participant's view: everything up to its own last message, and everything after it. */
export interface View {
  readonly history: readonly ChatMessage[];
  readonly input: readonly ChatMessage[];
}

/**
 * Converts a conversation of several participants for a model, which knows only itself and one user. Messages of others
 * become user messages that begin with their name. Their tool calls and results become text, because a model must not
 * receive calls of tools that it may not have.
 *
 * @param participant the name on the messages of the model's own agent. An assistant message without a name counts as its
 *   own.
 */
export function viewFor(participant: string, messages: readonly ChatMessage[]): View {
  const asked = new Set<string>();
  const visible: ChatMessage[] = [];
  let ownEnd = 0;
  for (const message of messages) {
    const { role, authorName = participant } = message;
    const isOwn = role === "tool" ? idsOf(message).some((id) => asked.has(id)) : authorName === participant;
    if (role !== "tool" && (role !== "assistant" || isOwn)) visible.push(message);
    else if (isOwn) visible.push(message);
    else visible.push(...asUserMessage(message));
    if (role === "assistant" && isOwn) for (const id of idsOf(message)) asked.add(id);
    if (isOwn && (role === "assistant" || message.authorName === participant)) ownEnd = visible.length;
  }
  return { history: visible.slice(0, ownEnd), input: visible.slice(ownEnd) };
}

/** The ids that link a tool message to its call. */
function idsOf({ content }: ChatMessage): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type === "tool-call" || part.type === "tool-result") return [part.toolCallId];
    if (part.type === "tool-approval-request") return [part.toolCallId, part.approvalId];
    return part.type === "tool-approval-response" ? [part.approvalId] : [];
  });
}

function asUserMessage({ authorName, content }: ChatMessage): ChatMessage[] {
  const prefix = authorName === undefined ? "" : `${authorName}: `;
  if (typeof content === "string") return [{ role: "user", content: `${prefix}${content}` }];
  const parts = content.flatMap(asUserPart);
  if (parts.length === 0) return [];
  const [first] = parts;
  if (first?.type !== "text") return [{ role: "user", content: [{ type: "text", text: prefix }, ...parts] }];
  return [{ role: "user", content: [{ ...first, text: `${prefix}${first.text}` }, ...parts.slice(1)] }];
}

function asUserPart(part: Part): Part[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text }];
    case "file":
    case "image":
      return [part];
    case "tool-call":
      return [{ type: "text", text: `(asks ${part.toolName}: ${JSON.stringify(part.input)})` }];
    case "tool-result":
      return [{ type: "text", text: `(${part.toolName} gave: ${JSON.stringify(plainOutput(part.output))})` }];
    default:
      return [];
  }
}

/** The value inside the AI SDK's wrapper of a tool output. */
function plainOutput(output: unknown): unknown {
  return typeof output === "object" && output !== null && "value" in output ? output.value : output;
}
