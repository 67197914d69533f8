import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchedStream } from "../src/streams/watched-stream.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A watched stream, its source, and its output so far. */
function setUp(isRunning: () => Promise<boolean>) {
  const { readable, writable } = new TransformStream<string, string>();
  const writer = writable.getWriter();
  const texts: string[] = [];
  const done = (async () => {
    for await (const text of watchedStream(readable, isRunning)) texts.push(text);
  })();
  return { writer, texts, done };
}

const KEEP_ALIVE = ": keep-alive\n\n";

test("chunks are forwarded, and keep-alives are sent while the answer is generated or the store is down", async () => {
  const answers = [async () => true, () => Promise.reject(new Error("down")), async () => true];
  const { writer, texts, done } = setUp(async () => (await answers.shift()?.()) ?? false);
  await writer.write("a");
  await vi.advanceTimersByTimeAsync(15_100);
  await writer.write("b");
  await writer.close();
  await done;
  expect(texts).toEqual(["a", KEEP_ALIVE, KEEP_ALIVE, KEEP_ALIVE, "b"]);
});

test("a dead producer: the stream ends with an error once the run is found ended twice", async () => {
  const { texts, done } = setUp(async () => false);
  await vi.advanceTimersByTimeAsync(10_100);
  await done;
  expect(texts).toEqual([KEEP_ALIVE, expect.stringContaining('"type":"error"')]);
});

test("a listener that disconnects ends the source and the checks", async () => {
  let looks = 0;
  let isCancelled = false;
  const source = new ReadableStream<string>({
    cancel() {
      isCancelled = true;
    },
  });
  const reader = watchedStream(source, async () => ++looks > 0).getReader();
  const reading = reader.read();
  await reader.cancel();
  await reading;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([isCancelled, looks]).toEqual([true, 0]);
});
