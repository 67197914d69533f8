import type { ToolSet, UIMessage } from "ai";
import {
  failedCall,
  isClientTool,
  isToolPart,
  type ToolPart,
  type UIPart,
  withPartFields,
} from "./tool-parts.ts";
import { withoutUnfinishedItems } from "./unfinished-step.ts";

const INTERRUPTED = "Interrupted; it may have run.";
const NOT_RUN = "Approved, but not run: the user sent another message.";

/**
 * Returns the message to store for an answer that will not continue: it was stopped, failed, or its process died. The message has
 * no part that a provider refuses, and no tool runs a second time unnoticed. Waiting approvals and calls of client tools are
 * unchanged.
 */
export function closeUiAnswer<UI extends UIMessage>(message: UI, tools: ToolSet | undefined): UI {
  const parts = withoutUnfinishedItems(message.parts);
  return { ...message, parts: parts.flatMap((part) => closePart(part, tools)) };
}

/** Whether a call of a tool that the provider runs was cut off. The provider does not know the result that it was given. */
export function isInterruptedByProvider(part: UIPart): boolean {
  if (!isToolPart(part) || part.providerExecuted !== true) return false;
  return part.state === "output-error" && part.errorText === INTERRUPTED;
}

/** A message whose texts are complete: nothing will be added to them. */
export function withEndedTexts<UI extends UIMessage>(message: UI): UI {
  return { ...message, parts: message.parts.map(ended) };
}

function ended(part: UIPart): UIPart {
  const isOpen = (part.type === "text" || part.type === "reasoning") && part.state === "streaming";
  return isOpen ? { ...part, state: "done" } : part;
}

/** An answer with new decisions that does not continue, because the user goes on with another message. */
export function closeDecidedCalls<UI extends UIMessage>(message: UI, tools: ToolSet | undefined): UI {
  const closed = (part: UIPart) => {
    if (!isToolPart(part)) return part;
    return isApproved(part) && !isClientTool(part, tools) ? failedCall(part, NOT_RUN) : denied(part);
  };
  return { ...message, parts: message.parts.map(closed) };
}

/** Whether a call was approved and has no result yet. */
function isApproved(part: ToolPart): boolean {
  return part.state === "approval-responded" && part.approval.approved;
}

/** A call whose denial is final. */
function denied(part: ToolPart): ToolPart {
  const isDenied = part.state === "approval-responded" && !part.approval.approved;
  return isDenied ? withPartFields(part, { state: "output-denied" }) : part;
}

function closePart(part: UIPart, tools: ToolSet | undefined): UIPart[] {
  if (!isToolPart(part)) return [ended(part)];
  if (part.state === "input-streaming") return [];
  return [isInterrupted(part, tools) ? interrupted(part) : denied(part)];
}

function isInterrupted(part: ToolPart, tools: ToolSet | undefined): boolean {
  if (part.state === "output-available") return part.preliminary === true;
  return (part.state === "input-available" || isApproved(part)) && !isClientTool(part, tools);
}

function interrupted(part: ToolPart): ToolPart {
  return failedCall(part, INTERRUPTED, { resultProviderMetadata: undefined });
}
