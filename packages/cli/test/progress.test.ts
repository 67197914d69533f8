import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Output } from "../src/output/output.ts";
import { Progress } from "../src/output/progress.ts";
import { Collector } from "./run.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The displayed progress of work on 100 threads: 25 are done after 1 second, 50 after 11 seconds. */
async function shown(isTerminal: boolean): Promise<{ text: string; notes: Collector }> {
  const notes = new Collector(isTerminal);
  const output = new Output(new Collector(isTerminal), notes);
  const progress = new Progress(output, { label: "copying", threads: 100, work: 200 });
  const finish = (count: number) => {
    for (let thread = 0; thread < count; thread++) {
      progress.advance(2);
      progress.finishThread();
    }
  };
  finish(25);
  await vi.advanceTimersByTimeAsync(1_000);
  finish(25);
  output.note("a note");
  await vi.advanceTimersByTimeAsync(10_000);
  progress.stop();
  progress.stop();
  return { text: notes.text, notes };
}

test("a terminal shows a bar with rate and time left, which notes do not break", async () => {
  const { text } = await shown(true);
  expect(text).toContain("\u2588\u2588\u2588\u2588\u2588\u2591");
  expect(text).toContain("copying 25 of 100 threads, 25%, 25/s, 3s left");
  expect(text).toContain("copying 50 of 100 threads, 50%, 5/s, 11s left");
  expect(text).toContain("\r\u001b[Ka note\n");
});

test("without a terminal there is a line every five seconds", async () => {
  const { text } = await shown(false);
  expect(text).not.toContain("\u001b");
  expect(text.split("\n").filter((line) => line.startsWith("copying"))).toEqual([
    "copying 25 of 100 threads, 25%, 25/s, 3s left",
    "copying 50 of 100 threads, 50%, 8/s, 6s left",
    "copying 50 of 100 threads, 50%, 5/s, 11s left",
    "copying 50 of 100 threads, 50%, 5/s, 11s left",
  ]);
});

test("one thread is singular, and no rate is shown before a thread is done", async () => {
  const notes = new Collector(false);
  const progress = new Progress(new Output(new Collector(false), notes), {
    label: "copying",
    threads: 1,
    work: 100,
  });
  progress.advance(50);
  await vi.advanceTimersByTimeAsync(1_000);
  progress.stop();
  expect(notes.text.split("\n")[0]).toBe("copying 0 of 1 thread, 50%, 1s left");
});

test("an operation of less than a second shows nothing", async () => {
  const notes = new Collector(true);
  const progress = new Progress(new Output(new Collector(true), notes), {
    label: "copying",
    threads: 1,
    work: 1,
  });
  await vi.advanceTimersByTimeAsync(900);
  progress.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(notes.text).toBe("");
});
