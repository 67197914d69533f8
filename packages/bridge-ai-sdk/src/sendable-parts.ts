import type { UIMessage } from "ai";
import { isInterruptedByProvider } from "./close-answer.ts";
import { isToolPart, type UIPart } from "./tool-parts.ts";

/**
 * The parts of an answer that a provider accepts. Left out: calls without a result, reasoning that nothing follows, and steps of
 * only such parts, of empty texts or of `custom` parts. All parts of a whole answer are kept.
 *
 * @param isContinued whether the model continues this answer: then answered approvals are kept, because their tools run now.
 */
export function sendableParts(parts: readonly UIPart[], isContinued: boolean): UIPart[] {
  return stepsOf(parts).flatMap((step) => sendableStep(step, isContinued));
}

/** The parts by step. A step begins with its `step-start`, or with a message that the user sent between two steps. */
function stepsOf(parts: readonly UIPart[]): UIPart[][] {
  const steps: UIPart[][] = [[]];
  for (const part of parts) {
    if (part.type === "step-start" || part.type === "steering-message") steps.push([]);
    steps.at(-1)?.push(part);
  }
  return steps;
}

function sendableStep(step: readonly UIPart[], isContinued: boolean): UIPart[] {
  const dropped = new Set<UIPart>();
  /** Reasoning without the part that it belongs to. Providers refuse it alone. */
  let reasoning: UIPart[] = [];
  let isCut = false;
  let hasContent = false;
  for (const part of step) {
    const type = contentType(part, isContinued);
    if (type === "other") continue;
    if (type === "left-out") {
      dropped.add(part);
      isCut ||= isToolPart(part) && reasoning.length > 0;
    } else if (type === "reasoning") {
      if (isCut) for (const one of reasoning) dropped.add(one);
      reasoning = isCut ? [part] : [...reasoning, part];
      isCut = false;
    } else {
      hasContent = true;
      reasoning = [];
      isCut = false;
    }
  }
  for (const one of reasoning) dropped.add(one);
  return step.filter((part) => !dropped.has(part) && (hasContent || part.type !== "custom"));
}

function contentType(part: UIPart, isContinued: boolean): "content" | "reasoning" | "left-out" | "other" {
  switch (part.type) {
    case "reasoning":
    case "reasoning-file":
      return "reasoning";
    case "text":
      return isEmptyText(part) ? "left-out" : "content";
    case "file":
      return "content";
    default:
      if (!isToolPart(part)) return "other";
      return hasOutcome(part, isContinued) ? "content" : "left-out";
  }
}

/** Some providers put a signature into the metadata of an empty text. */
function isEmptyText(part: Extract<UIPart, { type: "text" }>): boolean {
  return part.text.trim() === "" && part.providerMetadata === undefined;
}

function hasOutcome(part: Extract<UIPart, { toolCallId: string }>, isContinued: boolean): boolean {
  if (isInterruptedByProvider(part)) return false;
  if (part.state === "approval-responded") return isContinued;
  if (part.state === "output-available") return part.preliminary !== true;
  return part.state === "output-error" || part.state === "output-denied";
}

/** The messages for a model; see {@link sendableParts}. */
export function sendableMessages(
  messages: readonly UIMessage[],
  continuedId: string | undefined,
): UIMessage[] {
  return messages.map((message) =>
    message.role === "assistant"
      ? { ...message, parts: sendableParts(message.parts, message.id === continuedId) }
      : message,
  );
}
