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
