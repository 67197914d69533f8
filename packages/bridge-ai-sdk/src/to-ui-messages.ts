import { type ChatMessage, checkOptions, isFunction, type Part } from "@scrollback/store-core";
import type { ModelMessage, UIMessage } from "ai";
import { fileLocation } from "./file-url.ts";
import { isToolPart, type ToolPart, type UIPart, withPartFields } from "./tool-parts.ts";
import { type StoredResult, withResult } from "./tool-result-part.ts";

/** Messages for a UI, and what they could not take over. */
export interface ConvertedMessages {
  readonly messages: UIMessage[];
  /** Where there was something that a UI message has no place for, such as `messages[2].content[0].providerOptions`. */
  readonly lost: string[];
}

/**
 * Makes UI messages of model messages or of Scrollback's messages. An answer with its tool results is one UI message, its steps are
 * parted by `step-start`. Bytes become data URLs.
 *
 * @param options `idOf`: the id of a message that has none, by its index. Default: `message-<index>`.
 */
export function toUIMessages(
  messages: readonly (ModelMessage | ChatMessage)[],
  options: { idOf?: (index: number) => string } = {},
): ConvertedMessages {
  checkOptions("toUIMessages", options, { idOf: isFunction });
  const { idOf = (index: number) => `message-${index}` } = options;
  const made: UIMessage[] = [];
  const lost: string[] = [];
  for (const [index, message] of (messages as readonly ChatMessage[]).entries()) {
    const { role, content, id = idOf(index), metadata, providerOptions } = message;
    const path = `messages[${index}]`;
    if (providerOptions !== undefined) lost.push(`${path}.providerOptions`);
    const before = made.at(-1);
    const answer = before?.role === "assistant" ? before : undefined;
    const isAnswer = role === "assistant" || role === "tool";
    const target: UIMessage = (isAnswer && answer) || {
      id,
      role: isAnswer ? "assistant" : role,
      ...(metadata !== undefined && { metadata }),
      parts: [],
    };
    if (target !== answer) made.push(target);
    if (role === "assistant") target.parts.push({ type: "step-start" });
    const parts: Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    for (const [partIndex, part] of parts.entries()) {
      if (!add(part, target)) lost.push(`${path}.content[${partIndex}]`);
    }
  }
  return { messages: made.filter(({ parts }) => parts.length > 0), lost };
}

/** Adds a part to a message. Returns false where something of it is lost. */
function add(part: Part, target: UIMessage): boolean {
  switch (part.type) {
    case "tool-call":
      return addPart(target, callPart(part));
    case "tool-result": {
      const replaced = { lost: true };
      replacePart(
        target,
        (one) => one.toolCallId === part.toolCallId,
        (one) => {
          const result = withResult(one, part as StoredResult);
          replaced.lost = result.lost;
          return result.part;
        },
      );
      return !replaced.lost;
    }
    case "tool-approval-request": {
      const { toolCallId, approvalId } = part;
      const { reason, isAutomatic, signature } = part as {
        reason?: string;
        isAutomatic?: boolean;
        signature?: string;
      };
      const approval = { id: approvalId, requestReason: reason, isAutomatic, signature };
      return replacePart(
        target,
        (one) => one.toolCallId === toolCallId,
        (one) =>
          withPartFields(one, {
            state: "approval-requested",
            approval: JSON.parse(JSON.stringify(approval)),
          }),
      );
    }
    case "tool-approval-response": {
      const { approvalId, approved, reason } = part;
      const answer = { approved, ...(reason !== undefined && { reason }) };
      return replacePart(
        target,
        (one) => one.approval?.id === approvalId,
        (one) =>
          withPartFields(one, { state: "approval-responded", approval: { ...one.approval, ...answer } }),
      );
    }
    default: {
      const made = plainPart(part);
      return made !== undefined && addPart(target, made);
    }
  }
}

function addPart({ parts }: UIMessage, part: UIPart): boolean {
  parts.push(part);
  return true;
}

/** Changes the newest tool call that fits. Returns false where none does. */
function replacePart(
  { parts }: UIMessage,
  isMeant: (part: ToolPart) => boolean,
  change: (part: ToolPart) => ToolPart,
): boolean {
  const index = parts.findLastIndex((part) => isToolPart(part) && isMeant(part));
  const part = parts[index];
  if (!part || !isToolPart(part)) return false;
  parts[index] = change(part);
  return true;
}

function callPart({
  toolCallId,
  toolName,
  input,
  providerExecuted,
  providerOptions,
}: Extract<Part, { type: "tool-call" }>) {
  return {
    type: `tool-${toolName}`,
    ...{ toolCallId, state: "input-available", input },
    ...(providerExecuted && { providerExecuted }),
    ...(providerOptions && { callProviderMetadata: providerOptions }),
  } as UIPart;
}

/** A part without a tool; undefined where a UI message has none like it. */
function plainPart(part: Part): UIPart | undefined {
  const { providerOptions } = part as { providerOptions?: unknown };
  const metadata = providerOptions === undefined ? {} : { providerMetadata: providerOptions };
  const made = (fields: object) => ({ ...fields, ...metadata }) as UIPart;
  switch (part.type) {
    case "text":
    case "reasoning":
      return made({ type: part.type, text: part.text });
    case "custom":
      return made({ type: "custom", kind: part.kind });
    case "file":
    case "image":
    case "reasoning-file": {
      const { mediaType = "image" } = part;
      const location = fileLocation(part.type === "image" ? part.image : part.data, mediaType);
      const name = part.type === "file" && part.filename !== undefined ? { filename: part.filename } : {};
      return (
        location &&
        made({ type: part.type === "image" ? "file" : part.type, mediaType, ...name, ...location })
      );
    }
    default:
      return undefined;
  }
}
