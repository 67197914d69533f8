import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Output } from "../src/output/output.ts";
import { showProgress } from "../src/output/progress.ts";
import { Collector } from "./run.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What is shown of work on 100 threads, of which 25 are done after a second, and 50 from then on. */
async function shown(isTerminal: boolean): Promise<string> {
  const notes = new Collector(isTerminal);
  const output = new Output(new Collector(isTerminal), notes);
  const sums = { selected: 100, done: 25 };
  const stop = showProgress(output, "copying", sums);
  await vi.advanceTimersByTimeAsync(1_000);
  sums.done = 50;
  output.note("a note");
  await vi.advanceTimersByTimeAsync(9_000);
  stop();
  await vi.advanceTimersByTimeAsync(9_000);
  return notes.text;
}

test("a terminal shows rate and time left in one line, which notes do not break", async () => {
  const text = await shown(true);
  expect(text).toContain("\r\u001b[Kcopying 25 of 100 threads, 25/s, 3s left\r\u001b[Ka note\n\r\u001b[K");
  expect(text.endsWith("\r\u001b[Kcopying 50 of 100 threads, 5/s, 10s left\r\u001b[K")).toBe(true);
});

test("without a terminal there is a line every five seconds", async () => {
  expect(await shown(false)).toBe(
    "a note\ncopying 50 of 100 threads, 10/s, 5s left\ncopying 50 of 100 threads, 5/s, 10s left\n",
  );
});
