import type { UIMessage } from "ai";
import type { UIPart } from "./tool-parts.ts";

/** The maximum number of JSON bytes for one character of text. */
const CHARACTER_BYTES = 6;

/**
 * The beginning of an answer: its first parts with at most `maxBytes` of JSON in total, and as much of the next text as certainly
 * fits.
 */
export function answerPrefix<UI extends UIMessage>(message: UI, maxBytes: number): UI {
  const parts: UIPart[] = [];
  let left = maxBytes;
  for (const part of message.parts) {
    left -= Buffer.byteLength(JSON.stringify(part));
    if (left >= 0) parts.push(part);
    else if (part.type === "text" || part.type === "reasoning") parts.push(shortened(part, maxBytes, parts));
    if (left < 0) break;
  }
  return { ...message, parts };
}

function shortened<P extends { text: string }>(part: P, maxBytes: number, before: readonly UIPart[]): P {
  const left = maxBytes - Buffer.byteLength(JSON.stringify(before));
  return { ...part, text: part.text.slice(0, Math.max(0, left) / CHARACTER_BYTES).toWellFormed() };
}
