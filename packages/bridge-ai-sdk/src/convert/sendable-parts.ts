import { keepsReasoning } from "@scrollback/store-core/internal";
import { isInterruptedByProvider } from "./close-answer.ts";
import { isToolPart, type ToolPart, type UIPart } from "./tool-parts.ts";

/**
 * The parts of an answer that a provider accepts. Left out: calls without a result, reasoning that nothing follows, and steps of
 * only such parts or of `custom` parts. All parts of a whole answer are kept.
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
  const places = step.map((part) => placeOf(part, isContinued));
  const keeps = keepsReasoning([...places, "end" as const], (place) => place);
  const hasContent = places.includes("content");
  return step.filter((part, index) => keeps[index] && (hasContent || part.type !== "custom"));
}

function placeOf(part: UIPart, isContinued: boolean) {
  switch (part.type) {
    case "reasoning":
    case "reasoning-file":
      return "reasoning";
    case "text":
      return part.text.trim() === "" ? "other" : "content";
    case "file":
      return "content";
    default:
      if (!isToolPart(part)) return "other";
      return hasOutcome(part, isContinued) ? "content" : "dropped";
  }
}

function hasOutcome(part: ToolPart, isContinued: boolean): boolean {
  if (isInterruptedByProvider(part)) return false;
  if (part.state === "approval-responded") return isContinued;
  if (part.state === "output-available") return part.preliminary !== true;
  return part.state === "output-error" || part.state === "output-denied";
}
