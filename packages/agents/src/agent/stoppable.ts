/** Hands a part out; when the reader does not come back for more, stops the model before anything else is waited for. */
export function* stoppable<Part>(part: Part, stop: AbortController): Generator<Part> {
  let isTaken = false;
  try {
    yield part;
    isTaken = true;
  } finally {
    if (!isTaken) stop.abort(new Error("the reader of the stream stopped"));
  }
}
