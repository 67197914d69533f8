import { expect } from "vitest";
import { batchText } from "../processes/jobs.ts";

/**
 * The messages that the writers of a test added: each wrote the given number of batches of the given size (see `jobs.append`).
 */
export interface Written {
  readonly writers: readonly string[];
  readonly batches: number;
  readonly batchSize: number;
}

/** The number of messages that all writers add. */
export function totalOf({ writers, batches, batchSize }: Written): number {
  return writers.length * batches * batchSize;
}

/** Asserts that a reading consists of whole batches, each adjacent and in order, and returns them as `writer/batch`. */
export function batchesOf(reading: readonly string[], batchSize: number): string[] {
  const batches: string[] = [];
  for (let start = 0; start < reading.length; start += batchSize) {
    const [writer = "", batch] = reading[start]?.split("/") ?? [];
    const whole = Array.from({ length: batchSize }, (_, index) => batchText(writer, Number(batch), index));
    expect(reading.slice(start, start + batchSize), `the batch at ${start}`).toEqual(whole);
    batches.push(`${writer}/${batch}`);
  }
  expect(new Set(batches).size, "batches, none doubled").toBe(batches.length);
  return batches;
}

/** Asserts that the final thread has every batch of every writer once and whole, and each writer's batches in order. */
export function checkFinal(final: readonly string[], written: Written): void {
  const batches = batchesOf(final, written.batchSize);
  expect(final.length, "messages at the end").toBe(totalOf(written));
  for (const writer of written.writers) {
    const own = batches.filter((batch) => batch.startsWith(`${writer}/`));
    expect(own).toEqual(Array.from({ length: written.batches }, (_, batch) => `${writer}/${batch}`));
  }
}

/** Asserts that one reader's readings, while others only add, are growing prefixes of the final thread. */
export function checkReadings(
  readings: readonly (readonly string[])[],
  final: readonly string[],
  batchSize: number,
): void {
  let length = 0;
  for (const reading of readings) {
    expect(reading.length % batchSize, "messages that do not make a whole batch").toBe(0);
    expect(reading.length, "messages of a later reading").toBeGreaterThanOrEqual(length);
    expect(reading).toEqual(final.slice(0, reading.length));
    length = reading.length;
  }
}
