import type { TextStreamPart, ToolSet } from "ai";

/** How much of a streamed answer was handed out: the model may be ahead of whoever reads it. */
export class StreamProgress {
  /** How many whole steps. */
  steps = 0;
  /** The text of the step behind them. */
  text = "";

  note(part: TextStreamPart<ToolSet>): void {
    if (part.type === "text-delta") this.text += part.text;
    if (part.type !== "finish-step" || part.finishReason === "error") return;
    this.steps += 1;
    this.text = "";
  }
}
