import { byteLength } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";
import { failedCall, isToolPart, type ToolPart, type UIPart } from "../convert/tool-parts.ts";

/** The maximum number of JSON bytes for one character of text. */
const CHARACTER_BYTES = 6;
/** An input of this size is kept beside an output that is not. */
const SMALL_BYTES = 4_096;

const UNSTORABLE = "The tool's value is too large, so it was not stored.";

/**
 * As much of an answer as at most `maxBytes` of JSON take: its parts up to the text that does not fit, and as much of that text as
 * certainly fits. A tool's output or input that does not fit becomes a tool error; other parts and metadata that do not fit are left out.
 */
export function answerPrefix<UI extends UIMessage>(message: UI, maxBytes: number): UI {
  const { metadata, ...rest } = message;
  const parts: UIPart[] = [];
  const metadataBytes = metadata === undefined ? Number.POSITIVE_INFINITY : bytesOf(metadata);
  const keepsMetadata = metadataBytes <= maxBytes / 2;
  const most = keepsMetadata ? maxBytes - metadataBytes : maxBytes;
  let left = most;
  for (const whole of message.parts) {
    const part = bytesOf(whole) > left && isToolPart(whole) ? withoutValues(whole) : whole;
    const bytes = bytesOf(part);
    if (bytes <= left) {
      parts.push(part);
      left -= bytes;
    } else if (part.type === "text" || part.type === "reasoning") {
      parts.push(shortened(part, most, parts));
      break;
    }
  }
  return { ...rest, ...(keepsMetadata && { metadata }), parts } as UI;
}

function bytesOf(value: unknown): number {
  return byteLength(JSON.stringify(value));
}

function withoutValues(part: ToolPart): ToolPart {
  const input = bytesOf(part.input ?? null) > SMALL_BYTES ? null : part.input;
  return failedCall(part, UNSTORABLE, { input });
}

function shortened<P extends { text: string }>(part: P, maxBytes: number, before: readonly UIPart[]): P {
  const left = maxBytes - bytesOf(before);
  return { ...part, text: part.text.slice(0, Math.max(0, left) / CHARACTER_BYTES).toWellFormed() };
}
