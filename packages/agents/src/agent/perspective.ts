import type { ChatMessage, Part } from "@scrollback/store-core";

/** A conversation as one speaker has it: what was up to its own last words, and what came after them. */
export interface Heard {
  readonly history: readonly ChatMessage[];
  readonly input: readonly ChatMessage[];
}

/**
 * A conversation of several speakers as a model takes it, which knows itself and a user only. What others said is a
 * user's message that begins with their name, and what they did with tools is told in it: a model is not given calls of
 * tools that it may not have.
 *
 * @param speaker whose model it is for, by the name that its messages bear. An assistant's message without a name counts
 *   as its own.
 */
export function heardBy(speaker: string, messages: readonly ChatMessage[]): Heard {
  const asked = new Set<string>();
  const heard: ChatMessage[] = [];
  let spokenUpTo = 0;
  for (const message of messages) {
    const { role, authorName = speaker } = message;
    const isOwn = role === "tool" ? idsOf(message).some((id) => asked.has(id)) : authorName === speaker;
    if (role !== "tool" && (role !== "assistant" || isOwn)) heard.push(message);
    else if (isOwn) heard.push(message);
    else heard.push(...retold(message));
    if (role === "assistant" && isOwn) for (const id of idsOf(message)) asked.add(id);
    if (isOwn && (role === "assistant" || message.authorName === speaker)) spokenUpTo = heard.length;
  }
  return { history: heard.slice(0, spokenUpTo), input: heard.slice(spokenUpTo) };
}

/** What ties a tool's messages to the call that they belong to. */
function idsOf({ content }: ChatMessage): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type === "tool-call" || part.type === "tool-result") return [part.toolCallId];
    if (part.type === "tool-approval-request") return [part.toolCallId, part.approvalId];
    return part.type === "tool-approval-response" ? [part.approvalId] : [];
  });
}

function retold({ authorName, content }: ChatMessage): ChatMessage[] {
  const prefix = authorName === undefined ? "" : `${authorName}: `;
  if (typeof content === "string") return [{ role: "user", content: `${prefix}${content}` }];
  const parts = content.flatMap(retoldPart);
  if (parts.length === 0) return [];
  const [first] = parts;
  if (first?.type !== "text") return [{ role: "user", content: [{ type: "text", text: prefix }, ...parts] }];
  return [{ role: "user", content: [{ ...first, text: `${prefix}${first.text}` }, ...parts.slice(1)] }];
}

function retoldPart(part: Part): Part[] {
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

/** The AI SDK wraps a tool's output into what kind it is of. */
function plainOutput(output: unknown): unknown {
  return typeof output === "object" && output !== null && "value" in output ? output.value : output;
}
