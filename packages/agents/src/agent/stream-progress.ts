import type { TextStreamPart, ToolSet } from "ai";

/** How much of a streamed answer was yielded; the model may be ahead of the reader. */
export class StreamProgress {
  /** The number of complete steps. */
  steps = 0;
  /** The text of the step after them. */
  text = "";

  note(part: TextStreamPart<ToolSet>): void {
    if (part.type === "text-delta") this.text += part.text;
    if (part.type !== "finish-step" || part.finishReason === "error") return;
    this.steps += 1;
    this.text = "";
  }
}

/** Yields a part. When the reader stops, aborts the model before anything else is awaited. */
export function* stoppable<Part>(part: Part, stop: AbortController): Generator<Part> {
  let isTaken = false;
  try {
    yield part;
    isTaken = true;
  } finally {
    if (!isTaken) stop.abort(new Error("the reader of the stream stopped"));
  }
}
